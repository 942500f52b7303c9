import { beforeEach, describe, expect, test } from 'vitest';
import { administrationIn } from '../../server/domain/administration.ts';
import { eraseAccount } from '../../server/domain/erasure/erase-account.ts';
import { connectIdentity, disconnectIdentity } from '../../server/domain/identities/connect-identity.ts';
import { buildConnectionTokens } from '../../server/domain/identities/connection-tokens.ts';
import { type AssertedIdentity, signInWithIdentity } from '../../server/domain/identities/sign-in-with-identity.ts';
import { hashOfSecret } from '../../server/domain/sign-in/secret-text.ts';
import { readSession } from '../../server/domain/sign-in/session.ts';
import { startSession } from '../../server/domain/sign-in/start-session.ts';
import { userIn } from '../helpers/administration.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createMember, createUser, createWorld, type World } from '../helpers/fixtures.ts';

const now = new Date();
const terms = { now, expiresAt: new Date(now.getTime() + 3_600_000), previous: undefined };
const appKey = Buffer.alloc(32, 7);

let world: World;
let subjects = 0;

const db = await createDatabaseForFile();
beforeEach(async () => {
  world = await createWorld(db);
});

/** Describes a new person. By default, the rules of the account allow the person to join. */
function newPerson(changes: Partial<AssertedIdentity> = {}): AssertedIdentity {
  const subject = `person-${++subjects}`;
  return {
    accountId: world.accountId,
    providerId: null,
    subject,
    address: `${subject}@partner.example`,
    isAddressVerified: true,
    name: 'Grace',
    isAdmitted: true,
    ...changes,
  };
}

const audit = { record() {} };

function signIn(person: AssertedIdentity) {
  return db.database.transaction(tx =>
    signInWithIdentity(
      actor => administrationIn(tx, { audit, actor, now }),
      person,
      terms,
      async () => true,
    ),
  );
}

async function sessionOf(outcome: object) {
  const token = 'token' in outcome ? String(outcome.token) : '';
  return readSession(db.database, { tokenHash: hashOfSecret(token) ?? Buffer.alloc(32), now, idleMinutes: 60 });
}

async function ordinarySession(userId: number) {
  const started = await db.database.transaction(tx => startSession(tx, { id: userId, set_at: null }, terms));
  return sessionOf(started ?? {});
}

const addressOf = async (userId: number) => {
  const [user] = await db.sql<{ email: string }>('select email from users where id = $1', [userId]);
  return user?.email ?? '';
};

const connect = (person: AssertedIdentity, userId: number) =>
  db.database.transaction(tx => connectIdentity(userIn(tx, userId, now), { ...person, userId }, { isAdmitted: false }));

const countUsers = async () => (await db.sql('select id from users')).length;

describe('a new person with an identity', () => {
  test('a new person who signs in through an external system becomes a member without a sign-in e-mail address, and gets notifications at their verified address', async () => {
    const person = newPerson();
    const outcome = await signIn(person);
    expect(outcome).toMatchObject({ token: expect.any(String), userId: expect.any(Number) });
    const session = await sessionOf(outcome);
    expect(session?.accounts).toMatchObject([{ id: world.accountId, role: 'member' }]);
    const [user] = await db.sql('select email, name, notification_email, confirmed_email from users where id = $1', [
      session?.id,
    ]);
    expect(user).toEqual({
      email: expect.stringMatching(/@identity\.invalid$/),
      name: 'Grace',
      notification_email: person.address,
      confirmed_email: null,
    });
  });

  test('a person from an external system always signs in as the same user of an account, and as a different user in another account', async () => {
    const person = newPerson();
    const first = await signIn(person);
    const again = await signIn({ ...person, address: 'changed@partner.example', name: 'Other' });
    const other = await createWorld(db);
    const elsewhere = await signIn({ ...person, accountId: other.accountId });
    const ids = await Promise.all([first, again, elsewhere].map(async one => (await sessionOf(one))?.id));
    expect(ids[1]).toBe(ids[0]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  test('if a new person from an external system sends several sign-ins in parallel, all of them start sessions of the same user', async () => {
    const person = newPerson();
    const before = await countUsers();
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => signIn(person)));
    const ids = await Promise.all(outcomes.map(async one => (await sessionOf(one))?.id));
    expect(new Set(ids).size).toBe(1);
    expect(await countUsers()).toBe(before + 1);
  });

  test("a sign-in through an external system is refused and creates no user if the person's e-mail address is unverified", async () => {
    const before = await countUsers();
    expect(await signIn(newPerson({ isAddressVerified: false }))).toEqual({ refused: 'unverified_address' });
    expect(await countUsers()).toBe(before);
  });

  test('an invitation-only account refuses new people from an external system, and an account with allowed e-mail domains accepts only new people with these domains', async () => {
    const before = await countUsers();
    expect(await signIn(newPerson({ isAdmitted: false }))).toEqual({ refused: 'may_not_join' });
    await db.sql(`update accounts set join_rule = 'domains', join_domains = '{partner.example}' where id = $1`, [
      world.accountId,
    ]);
    expect(await signIn(newPerson({ isAdmitted: false, address: 'a@other.example' }))).toEqual({
      refused: 'may_not_join',
    });
    expect(await countUsers()).toBe(before);
    expect(await signIn(newPerson({ isAdmitted: false }))).toMatchObject({ token: expect.any(String) });
  });

  test('once the erasure of an account has begun, new people from an external system cannot sign in, and earlier sessions cannot access the account', async () => {
    const person = newPerson();
    const known = await signIn(person);
    await db.sql('update accounts set deletion_scheduled_at = now(), erasure_began_at = now() where id = $1', [
      world.accountId,
    ]);
    expect(await signIn(newPerson())).toEqual({ refused: 'may_not_join' });
    expect((await sessionOf(known))?.accounts).toEqual([]);
  });
});

describe('an identity with the address of an existing user', () => {
  test("a sign-in through an external system with an existing user's e-mail address, in any spelling, fails until that user connects the external identity", async () => {
    const userId = await createMember(db, world.accountId, 'admin');
    const email = await addressOf(userId);
    const person = newPerson({ address: ` ${email.toUpperCase()}` });
    const mustConfirm = { mustConfirm: { userId, email } };
    expect(await signIn(person)).toEqual(mustConfirm);
    expect(await signIn(person)).toEqual(mustConfirm);
    expect(await db.sql('select 1 from sessions where user_id = $1', [userId])).toEqual([]);
    await connect(person, userId);
    const session = await sessionOf(await signIn(person));
    expect(session).toMatchObject({ id: userId, accounts: [{ id: world.accountId, role: 'admin' }] });
  });

  test('if an identity in an external system is connected to one user, it cannot be connected to another user', async () => {
    const [first, second] = [await createUser(db), await createUser(db)];
    const person = newPerson({ address: await addressOf(first) });
    await connect(person, first);
    await connect(person, first);
    await expect(connect(person, second)).rejects.toThrow('connected to another user');
    expect(await db.sql('select user_id from identities where subject = $1', [person.subject])).toEqual([
      { user_id: first },
    ]);
  });

  test('a token that connects a user to an identity in an external system is refused if the token has expired or was changed', () => {
    const tokens = buildConnectionTokens(appKey);
    const subject = 'with spaces\nand lines 9';
    const connection = { accountId: 4, providerId: null, userId: 7, subject, canonicalEmail: 'ada@example.com' };
    const token = tokens.make(connection, terms.expiresAt);
    expect(tokens.read(token, now)).toEqual(connection);
    expect(tokens.read(token, terms.expiresAt)).toBeUndefined();
    expect(tokens.read(`${token.slice(0, -2)}AA`, now)).toBeUndefined();
    expect(tokens.read('', now)).toBeUndefined();
    expect(buildConnectionTokens(Buffer.alloc(32, 8)).read(token, now)).toBeUndefined();
  });
});

describe('a session of an identity', () => {
  test("a user who signs in through an account's external system can access only that account, without operator rights and without notifications from other accounts", async () => {
    const userId = await createMember(db, world.accountId, 'owner');
    const other = await createWorld(db);
    await db.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'owner')`, [
      other.accountId,
      userId,
    ]);
    await db.sql('update users set is_operator = true where id = $1', [userId]);
    for (const { accountId } of [world, world, other]) {
      await db.sql(
        `with endpoint as (
          insert into webhook_endpoints (account_id, url, secret) values ($1, 'https://example.com', '') returning id
        )
        insert into notifications (account_id, user_id, endpoint_id, kind)
        select $1, $2, id, 'webhook.disabled' from endpoint`,
        [accountId, userId],
      );
    }
    const person = newPerson({ address: await addressOf(userId) });
    await connect(person, userId);
    expect(await sessionOf(await signIn(person))).toMatchObject({
      is_operator: false,
      only_account_id: world.accountId,
      accounts: [{ id: world.accountId }],
      unread_count: 2,
    });
    const ordinary = await ordinarySession(userId);
    expect(ordinary).toMatchObject({ is_operator: true, only_account_id: null, unread_count: 3 });
    expect(ordinary?.accounts).toHaveLength(2);
  });

  test('a session from a sign-in with an external identity ends when its user disconnects this identity, and nobody can disconnect their only way to sign in', async () => {
    const userId = await createMember(db, world.accountId, 'member');
    const person = newPerson({ address: await addressOf(userId) });
    await connect(person, userId);
    const signedIn = await signIn(person);
    const disconnect = (of: typeof signedIn) => {
      const [user, identityId] = 'identityId' in of ? [of.userId, of.identityId] : [0, 0];
      const { accountId } = world;
      return db.database.transaction(tx =>
        disconnectIdentity(userIn(tx, user, now), { accountId, identityId, userId: user }),
      );
    };
    await disconnect(signedIn);
    expect(await sessionOf(signedIn)).toBeUndefined();
    const alone = await signIn(newPerson());
    await expect(disconnect(alone)).rejects.toThrow('cannot sign in without');
    expect(await sessionOf(alone)).toBeDefined();
  });

  test('a user who is blocked in one of two accounts cannot sign in through an external system of the account that blocks them', async () => {
    const userId = await createMember(db, world.accountId, 'member');
    const other = await createWorld(db);
    await db.sql(`insert into memberships (account_id, user_id, role) values ($1, $2, 'member')`, [
      other.accountId,
      userId,
    ]);
    const person = newPerson({ address: await addressOf(userId) });
    await connect(person, userId);
    await db.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, userId]);
    expect(await signIn(person)).toEqual({ refused: 'blocked', userId });
  });
});

describe('the erasure of an account', () => {
  test('the erasure of an account ends the sessions that began in its external systems, and requests the deletion of users who cannot sign in otherwise', async () => {
    const alone = await signIn(newPerson());
    const member = await createMember(db, world.accountId, 'member');
    const person = newPerson({ address: await addressOf(member) });
    await connect(person, member);
    const bound = await signIn(person);
    const ordinary = await ordinarySession(member);
    await db.sql('update accounts set deletion_scheduled_at = $2 where id = $1', [world.accountId, now]);
    const options = { now, dueBefore: now, batchSize: 100, async record() {} };
    const erased = await eraseAccount(db.database, world.accountId, options);
    expect(erased?.counts).toMatchObject({ sessions: 2, identities: 2 });
    expect([await sessionOf(alone), await sessionOf(bound)]).toEqual([undefined, undefined]);
    expect(ordinary?.id).toBe(member);
    expect(await db.sql('select count(*)::int as n from sessions where user_id = $1', [member])).toEqual([{ n: 1 }]);
    const requested = await db.sql('select id from users where deletion_requested_at is not null');
    expect(requested).toEqual([{ id: 'userId' in alone && alone.userId }]);
  });
});

describe('an account that requires sign-in with its provider', () => {
  test('if an account requires its own sign-in provider, only owners and users who signed in through that provider can access the account', async () => {
    const [member, admin] = [
      await createMember(db, world.accountId, 'member'),
      await createMember(db, world.accountId, 'admin'),
    ];
    const person = newPerson();
    const signedIn = await signIn(person);
    await db.sql('update accounts set requires_provider = true where id = $1', [world.accountId]);
    const reached = async (session: Awaited<ReturnType<typeof sessionOf>>) => session?.accounts.map(({ id }) => id);
    expect(await reached(await ordinarySession(member))).toEqual([]);
    expect(await reached(await ordinarySession(admin))).toEqual([]);
    expect(await reached(await ordinarySession(world.ownerId))).toEqual([world.accountId]);
    expect(await reached(await sessionOf(signedIn))).toEqual([world.accountId]);
  });
});
