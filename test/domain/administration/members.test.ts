import { beforeEach, describe, expect, test } from 'vitest';
import type { Administration, AdministrationError } from '../../../server/domain/administration.ts';
import { acceptInvitation } from '../../../server/domain/invitations/accept-invitation.ts';
import { inviteMember } from '../../../server/domain/invitations/invite-member.ts';
import { addMember, removeMember, setMemberRole } from '../../../server/domain/members/change-members.ts';
import { listMembers, type MemberFilter } from '../../../server/domain/members/list-members.ts';
import { hashOfSecret } from '../../../server/domain/sign-in/secret-text.ts';
import { blockUser, unblockUser } from '../../../server/domain/users/block-user.ts';
import { createUser, updateUser } from '../../../server/domain/users/edit-user.ts';
import { requireUser } from '../../../server/domain/users/find-user.ts';
import { listUsers } from '../../../server/domain/users/list-users.ts';
import { type Role, roles } from '../../../server/entities/membership.ts';
import { asUser, userIn } from '../../helpers/administration.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { createMember, createWorld, createUser as insertUser, type World } from '../../helpers/fixtures.ts';
import { administer, administerAtOnce, expectRefusal } from './administer.ts';

let world: World;

const db = await createDatabaseForFile();
beforeEach(async () => {
  world = await createWorld(db);
});

const roleOf = async (userId: number) =>
  (await db.sql<{ role: string }>('select role from memberships where user_id = $1', [userId]))[0]?.role;

test('the last owner of an account cannot be removed or demoted, but one of two owners can be demoted', async () => {
  const { accountId, ownerId } = world;
  const last = { accountId, userId: ownerId };
  await expectRefusal(db, admin => removeMember(admin, last), 'conflict', 'The last owner .* cannot be removed');
  await expectRefusal(db, admin => setMemberRole(admin, last, 'admin'), 'conflict', 'The last owner .* demoted');
  await administer(db, admin => setMemberRole(admin, last, 'owner'));

  const other = { accountId, userId: await createMember(db, accountId, 'owner') };
  await administer(db, admin => setMemberRole(admin, last, 'member'));
  expect(await roleOf(ownerId)).toBe('member');
  await expectRefusal(db, admin => removeMember(admin, other), 'conflict', 'The last owner');
});

test('if the two owners of an account are removed at the same time, one of them stays an owner', async () => {
  const { accountId, ownerId } = world;
  const otherId = await createMember(db, accountId, 'owner');
  const results = await administerAtOnce(
    db,
    admin => removeMember(admin, { accountId, userId: ownerId }),
    admin => removeMember(admin, { accountId, userId: otherId }),
  );
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(await db.sql('select role from memberships where account_id = $1', [accountId])).toEqual([{ role: 'owner' }]);
});

test('a member cannot be added twice, and a user who is not a member cannot be changed or removed', async () => {
  const member = { accountId: world.accountId, userId: await insertUser(db) };
  const noMember = 'not a member of the account';
  await expectRefusal(db, admin => removeMember(admin, member), 'not_found', noMember);
  await expectRefusal(db, admin => setMemberRole(admin, member, 'admin'), 'not_found', noMember);
  await administer(db, admin => addMember(admin, member, 'moderator'));
  await expectRefusal(db, admin => addMember(admin, member, 'admin'), 'conflict', 'a member of the account already');
  expect(await roleOf(member.userId)).toBe('moderator');
  await administer(db, admin => removeMember(admin, member));
  expect(await roleOf(member.userId)).toBe(undefined);
});

describe('the right of a role to change members', () => {
  const acting = <T>(userId: number, work: (admin: Administration) => Promise<T>) =>
    db.database.transaction(transaction => work(userIn(transaction, userId)));
  const outcomeOf = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: AdministrationError) => error.reason,
    );

  test.each(roles)(
    "a user with the role %s can change a member only if the user's role may manage the member's old role and new role",
    async own => {
      const { accountId } = world;
      const actorId = await createMember(db, accountId, own);
      const managed: Role[] = { owner: [...roles], admin: roles.slice(1), moderator: [], member: [] }[own];
      const other = { accountId, userId: await createMember(db, accountId, 'member') };
      const be = (role: Role) => db.sql('update memberships set role = $2 where user_id = $1', [other.userId, role]);
      for (const from of roles) {
        const isManaged = managed.includes(from);
        for (const to of roles) {
          await be(from);
          const outcome = await outcomeOf(acting(actorId, admin => setMemberRole(admin, other, to)));
          const expected = isManaged && managed.includes(to) ? ['done', to] : ['forbidden', from];
          expect([from, to, outcome, await roleOf(other.userId)]).toEqual([from, to, ...expected]);
        }
        await be(from);
        const removed = await outcomeOf(acting(actorId, admin => removeMember(admin, other)));
        if (!isManaged) await db.sql('delete from memberships where user_id = $1', [other.userId]);
        const added = await outcomeOf(acting(actorId, admin => addMember(admin, other, from)));
        if (!isManaged) await administer(db, admin => addMember(admin, other, from));
        expect([from, removed, added]).toEqual([from, ...Array(2).fill(isManaged ? 'done' : 'forbidden')]);
      }
      // A user cannot raise their own role, but can leave the account.
      const higher = roles.slice(0, roles.indexOf(own));
      for (const to of higher) {
        const outcome = await outcomeOf(
          acting(actorId, admin => setMemberRole(admin, { accountId, userId: actorId }, to)),
        );
        expect([to, outcome]).toEqual([to, 'forbidden']);
      }
      await acting(actorId, admin => removeMember(admin, { accountId, userId: actorId }));
      expect(await roleOf(actorId)).toBeUndefined();
    },
  );

  test('an admin who is demoted by a concurrent operation cannot change the role of another member', async () => {
    const { accountId, ownerId } = world;
    const [adminId, userId] = [
      await createMember(db, accountId, 'admin'),
      await createMember(db, accountId, 'moderator'),
    ];
    const results = await administerAtOnce(
      db,
      admin => setMemberRole(admin, { accountId, userId: adminId }, 'member'),
      admin => setMemberRole(asUser(admin, adminId), { accountId, userId }, 'admin'),
    );
    expect(results).toMatchObject([{ status: 'fulfilled' }, { reason: { reason: 'forbidden' } }]);
    // Neither an owner of another account nor a blocked owner has any rights in this account.
    const other = await createWorld(db);
    expect(await outcomeOf(acting(other.ownerId, admin => removeMember(admin, { accountId, userId })))).toBe(
      'forbidden',
    );
    await createMember(db, accountId, 'owner');
    await administer(db, admin => blockUser(admin, { accountId, userId: ownerId }));
    expect(await outcomeOf(acting(ownerId, admin => removeMember(admin, { accountId, userId })))).toBe('forbidden');
    expect(await roleOf(userId)).toBe('moderator');
  });
});

test('an invitation cannot be accepted while its inviter is being removed from the account', async () => {
  const { accountId } = world;
  const inviterId = await createMember(db, accountId, 'admin');
  const userId = await insertUser(db);
  const [user] = await db.sql<{ email: string }>('select email from users where id = $1', [userId]);
  const { token = '' } = await db.database.transaction(transaction =>
    inviteMember(
      userIn(transaction, inviterId),
      { accountId, email: user?.email ?? '', role: 'member' },
      { isMailed: false },
    ),
  );
  const hash = hashOfSecret(token) ?? Buffer.of();
  const results = await administerAtOnce(
    db,
    admin => removeMember(admin, { accountId, userId: inviterId }),
    admin => acceptInvitation(admin, hash, userId),
  );
  expect(results).toMatchObject([{ status: 'fulfilled' }, { reason: { reason: 'not_found' } }]);
  expect(await roleOf(userId)).toBeUndefined();
});

test('the list of members has pages, is sorted by role, and can be searched by the beginning of a name or e-mail address', async () => {
  const { accountId, ownerId } = world;
  const ids: Record<string, number> = {};
  for (const [name, role] of [
    ['Ada', 'member'],
    ['adam_1', 'moderator'],
    ['Grace 100%', 'admin'],
    ['Hedy\\', 'owner'],
    ['Åse', 'member'],
  ] as const) {
    ids[name] = await createMember(db, accountId, role, name);
  }
  await db.sql(`update users set email = 'Adele@' || id || '.example' where id = $1`, [ids['Hedy\\']]);
  await db.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [accountId, ids.Ada]);
  const list = (filter: MemberFilter & { after?: { role: Role; userId: number } } = {}, limit = 10) =>
    administer(db, admin => listMembers(admin, accountId, { ...filter, limit }));
  const namesOf = async (filter: MemberFilter) => (await list(filter)).map(({ name }) => name);

  const all = await list();
  expect(all.map(({ name }) => name)).toEqual(['The owner', 'Hedy\\', 'Grace 100%', 'adam_1', 'Ada', 'Åse']);
  for (let size = 1; size <= 4; size++) {
    const paged = [];
    let after: { role: Role; userId: number } | undefined;
    for (;;) {
      const page = await list(after ? { after } : {}, size);
      paged.push(...page);
      const last = page.at(-1);
      if (!last) break;
      after = { role: last.role, userId: last.user_id };
    }
    expect(paged).toEqual(all);
  }
  expect(await namesOf({ beginning: 'ADA' })).toEqual(['adam_1', 'Ada']);
  expect(await namesOf({ beginning: 'ade' })).toEqual(['Hedy\\']);
  expect(await namesOf({ beginning: 'å' })).toEqual(['Åse']);
  expect(await namesOf({ beginning: 'dam' })).toEqual([]);
  // In a search text, the characters % and _ match only themselves, although they are wildcards in SQL. A search text
  // with a NUL character or half a character finds nothing.
  for (const beginning of ['%', '_', 'ada_', 'grace 1%', 'hedy\\%', '\0', '\ud800']) {
    expect([beginning, await namesOf({ beginning })]).toEqual([beginning, []]);
  }
  expect(await namesOf({ beginning: 'adam_' })).toEqual(['adam_1']);
  expect(await namesOf({ beginning: 'hedy\\' })).toEqual(['Hedy\\']);
  expect(await namesOf({ role: 'owner' })).toEqual(['The owner', 'Hedy\\']);
  expect(await namesOf({ isBlocked: true })).toEqual(['Ada']);
  expect(await namesOf({ beginning: 'ada', isBlocked: false })).toEqual(['adam_1']);
  expect(await namesOf({ beginning: 'ada', role: 'member', isBlocked: true })).toEqual(['Ada']);
  expect((await list({ role: 'owner', after: { role: 'owner', userId: ownerId } })).map(({ name }) => name)).toEqual([
    'Hedy\\',
  ]);
});

test('a block of a user applies to one account, a second block without a reason keeps the first reason, and an unblock ends the block', async () => {
  const blocking = { accountId: world.accountId, userId: await insertUser(db, 'Mallory') };
  const reasons = () => db.sql('select account_id, reason from user_blocks where user_id = $1', [blocking.userId]);
  await administer(db, admin => blockUser(admin, blocking, 'Spam'));
  await administer(db, admin => blockUser(admin, blocking));
  expect(await reasons()).toEqual([{ account_id: world.accountId, reason: 'Spam' }]);
  await administer(db, admin => blockUser(admin, blocking, 'More spam'));
  expect(await reasons()).toEqual([{ account_id: world.accountId, reason: 'More spam' }]);

  const listed = await administer(db, admin => listUsers(admin, world.accountId, 10));
  expect(listed.map(({ name, accounts }) => [name, accounts[0]?.role, accounts[0]?.is_blocked]).sort()).toEqual([
    ['Mallory', null, true],
    ['The owner', 'owner', false],
  ]);

  await administer(db, admin => unblockUser(admin, blocking));
  await administer(db, admin => unblockUser(admin, blocking));
  expect(await reasons()).toEqual([]);
});

const block = (userId: number, moderatorId: number | null) => (admin: Administration) =>
  blockUser(asUser(admin, moderatorId), { accountId: world.accountId, userId }, 'Spam');
const unblock = (userId: number, moderatorId: number | null) => (admin: Administration) =>
  unblockUser(asUser(admin, moderatorId), { accountId: world.accountId, userId });

test('owners, admins and moderators can block and unblock users with the same role, a lower role or no role, and nobody can block themselves', async () => {
  const { accountId, ownerId } = world;
  const of = {
    owner: await createMember(db, accountId, 'owner'),
    admin: await createMember(db, accountId, 'admin'),
    moderator: await createMember(db, accountId, 'moderator'),
    member: await createMember(db, accountId, 'member'),
    stranger: await insertUser(db),
  };
  const others = { admin: await createMember(db, accountId, 'admin'), moderator: of.moderator, member: of.member };
  const allowed = {
    owner: ['owner', 'admin', 'moderator', 'member', 'stranger'],
    admin: ['admin', 'moderator', 'member', 'stranger'],
    moderator: ['moderator', 'member', 'stranger'],
    member: [],
    stranger: [],
  };
  const actors = {
    ...of,
    owner: ownerId,
    admin: others.admin,
    moderator: await createMember(db, accountId, 'moderator'),
  };
  for (const [actor, actorId] of Object.entries(actors)) {
    for (const [whom, userId] of Object.entries(of).filter(([, id]) => id !== actorId)) {
      const may = (allowed[actor as keyof typeof allowed] as string[]).includes(whom);
      for (const change of [block(userId, actorId), unblock(userId, actorId)]) {
        if (may) await administer(db, change);
        else await expect(administer(db, change)).rejects.toMatchObject({ reason: 'forbidden' });
      }
    }
    await expect(administer(db, block(actorId, actorId))).rejects.toMatchObject({ reason: 'forbidden' });
  }
  await expectRefusal(db, block(of.owner, actors.admin), 'forbidden', 'is not enough to block an owner');
  await expectRefusal(db, block(of.owner, of.owner), 'forbidden', 'Nobody can block or unblock themselves');
});

test.each(['owner', 'admin'] as const)(
  'when two users with the role %s block each other at the same time, only one of them is blocked',
  async role => {
    const { accountId } = world;
    const [one, other] = [await createMember(db, accountId, role), await createMember(db, accountId, role)];
    const results = await administerAtOnce(db, block(other, one), block(one, other));
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(await db.sql('select user_id from user_blocks where account_id = $1', [accountId])).toEqual([
      { user_id: other },
    ]);
  },
);

test('if all other owners of an account are blocked, not even the operator of the server can block or remove the last owner', async () => {
  const { accountId, ownerId } = world;
  await expectRefusal(db, block(ownerId, null), 'conflict', 'The last owner .* cannot be blocked');
  const otherId = await createMember(db, accountId, 'owner');
  await administer(db, block(otherId, null));
  await expectRefusal(db, block(ownerId, null), 'conflict', 'The last owner .* cannot be blocked');
  await expectRefusal(db, admin => removeMember(admin, { accountId, userId: ownerId }), 'conflict', 'The last owner');
  await administer(db, unblock(otherId, null));
  await administer(db, block(ownerId, otherId));
});

test('two users cannot have e-mail addresses that differ only in upper and lower case letters, and an invalid e-mail address is refused', async () => {
  const input = { email: `grace-${world.accountId}@example.com`, name: 'Grace' };
  await administer(db, admin => createUser(admin, input));
  const upper = input.email.toUpperCase();
  await expectRefusal(db, admin => createUser(admin, { ...input, email: upper }), 'conflict', 'Another user has');
  await administer(db, admin => createUser(admin, { email: `other-${input.email}`, name: 'Other' }));
  await expectRefusal(
    db,
    async admin => updateUser(admin, await requireUser(admin, `other-${input.email}`), { email: upper }),
    'conflict',
    'Another user has',
  );
  for (const email of ['', 'a', '@example.com', 'a@', 'a b@example.com', 'a@b@c', `${'a'.repeat(250)}@b.co`]) {
    await expectRefusal(db, admin => createUser(admin, { email, name: 'A' }), 'invalid', 'is not an e-mail address');
  }
});

test('an operator of the server can set and remove the notification e-mail address of a user', async () => {
  const email = `hedy-${world.accountId}@example.com`;
  await administer(db, admin => createUser(admin, { email, name: 'Hedy' }));
  const update = async (notificationEmail: string | null) => {
    await administer(db, async admin => updateUser(admin, await requireUser(admin, email), { notificationEmail }));
    return db.sql('select notification_email as to from users where email = $1', [email]);
  };
  expect(await update('hedy+ideas@example.com')).toEqual([{ to: 'hedy+ideas@example.com' }]);
  expect(await update(null)).toEqual([{ to: null }]);
});
