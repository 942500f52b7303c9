import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import type { Administration } from '../../../server/domain/administration.ts';
import { removeMember, setMemberRole } from '../../../server/domain/members/change-members.ts';
import { createToken, type NewToken, restrictToken, revokeToken } from '../../../server/domain/tokens/change-tokens.ts';
import { listTokens } from '../../../server/domain/tokens/list-tokens.ts';
import { checkRestrictions } from '../../../server/domain/tokens/restrictions.ts';
import { endOldSecret, type Rotation, rotateToken } from '../../../server/domain/tokens/rotate-token.ts';
import { blockUser } from '../../../server/domain/users/block-user.ts';
import { Account } from '../../../server/entities/account.ts';
import { Membership } from '../../../server/entities/membership.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { createBoard, createMember, createUser, createWorld } from '../../helpers/fixtures.ts';
import { administer, administerAtOnce, expectRefusal } from './administer.ts';

const db = await createDatabaseForFile();
const world = await createWorld(db);
const input: NewToken = {
  accountId: world.accountId,
  issuerId: world.ownerId,
  name: 'Bot',
  boards: [{ boardId: world.boardId, grant: 'write' }],
};

const refuse = (changes: Partial<NewToken>, reason: 'invalid' | 'not_found' | 'forbidden', message: string) =>
  expectRefusal(db, admin => createToken(admin, { ...input, ...changes }), reason, message);

test('only an owner or admin of an account can issue a token for the account', async () => {
  const adminId = await createMember(db, world.accountId, 'admin');
  await administer(db, admin => createToken(admin, { ...input, issuerId: adminId }));
  const other = await createWorld(db);
  const others = [
    await createMember(db, world.accountId, 'moderator'),
    await createMember(db, world.accountId, 'member'),
    await createUser(db),
    other.ownerId,
  ];
  for (const issuerId of others)
    await refuse({ issuerId }, 'forbidden', 'Only an owner or admin of the account can issue a token');
});

type Member = { accountId: number; userId: number };

const ways: [string, (admin: Administration, member: Member) => Promise<void>][] = [
  ['removed', (admin, member) => removeMember(admin, member)],
  ['demoted', (admin, member) => setMemberRole(admin, member, 'moderator')],
  ['blocked', (admin, member) => blockUser(admin, member)],
  // Deletes only the membership. The erasure of a user does the same and does not lock the account.
  ['erased', async (admin, member) => void (await admin.em.nativeDelete(Membership, member))],
];

test.each(ways)('an admin who is being %s by a concurrent operation cannot issue a token', async (_, leave) => {
  const member = { accountId: world.accountId, userId: await createMember(db, world.accountId, 'admin') };
  for (const kind of ['api', 'oauth'] as const) {
    const results = await administerAtOnce(
      db,
      admin => leave(admin, member),
      admin => createToken(admin, { ...input, issuerId: member.userId, kind }),
    );
    expect(results).toMatchObject([{ status: 'fulfilled' }, { reason: { reason: 'forbidden' } }]);
    await db.sql('delete from user_blocks where user_id = $1', [member.userId]);
    await db.sql(
      `insert into memberships (account_id, user_id, role) values ($1, $2, 'admin')
      on conflict (account_id, user_id) do update set role = 'admin'`,
      [member.accountId, member.userId],
    );
  }
  expect(await db.sql('select from api_tokens where issuer_id = $1', [member.userId])).toEqual([]);
});

test('no token can be created for an account whose erasure begins at the same time', async () => {
  const { accountId, ownerId: issuerId, boardId } = await createWorld(db);
  const results = await administerAtOnce(
    db,
    async admin => {
      const account = await admin.em.findOneOrFail(Account, accountId);
      account.deletionScheduledAt = account.erasureBeganAt = admin.now;
      await admin.em.flush();
    },
    admin => createToken(admin, { ...input, accountId, issuerId, boards: [{ boardId, grant: 'read' }] }),
  );
  expect(results).toMatchObject([{ status: 'fulfilled' }, { reason: { reason: 'conflict' } }]);
  expect(await db.sql('select from api_tokens where account_id = $1', [accountId])).toEqual([]);
});

test.each([
  ['removed', 'removed', ['api', 'oauth']],
  ['removed without a revocation of their tokens', 'kept', ['oauth']],
  ['blocked', 'blocked', ['oauth']],
  ['demoted', 'demoted', []],
] as const)(
  "if an admin is %s while creating an API and an OAuth token, the server keeps or revokes these tokens like the admin's existing tokens",
  async (_, way, expected) => {
    const member = { accountId: world.accountId, userId: await createMember(db, world.accountId, 'admin') };
    const leave = (admin: Administration) => {
      if (way === 'blocked') return blockUser(admin, member);
      if (way === 'demoted') return setMemberRole(admin, member, 'member');
      return removeMember(admin, member, { keepsTokens: way === 'kept' });
    };
    const results = await administerAtOnce(
      db,
      async admin => {
        for (const kind of ['api', 'oauth'] as const) {
          await createToken(admin, { ...input, issuerId: member.userId, kind });
        }
      },
      leave,
    );
    expect(results).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
    const revoked = await db.sql<{ kind: string }>(
      'select kind from api_tokens where issuer_id = $1 and revoked_at is not null order by kind',
      [member.userId],
    );
    expect(revoked.map(({ kind }) => kind)).toEqual(expected);
  },
);

test('a blocked admin cannot issue a token', async () => {
  const issuerId = await createMember(db, world.accountId, 'admin');
  await administer(db, admin => blockUser(admin, { accountId: world.accountId, userId: issuerId }));
  await refuse({ issuerId }, 'forbidden', 'A blocked user cannot issue a token');
});

test('a new token must give access to at least one board, to each board only once, and only to boards of its own account', async () => {
  const other = await createWorld(db);
  const own = { boardId: world.boardId, grant: 'read' as const };
  await refuse({ boards: [] }, 'invalid', 'A token needs at least one board');
  await refuse({ boards: [own, own] }, 'invalid', 'A board is named twice');
  await refuse({ boards: [own, { boardId: other.boardId, grant: 'read' }] }, 'not_found', 'does not have all boards');
  const { id: second } = await createBoard(db, world.accountId);
  const { token } = await administer(db, admin =>
    createToken(admin, { ...input, boards: [own, { boardId: second, grant: 'moderate' }] }),
  );
  expect(
    await db.sql('select board_id, level from api_token_boards where token_id = $1 order by board_id', [token.id]),
  ).toEqual([
    { board_id: world.boardId, level: 'read' },
    { board_id: second, level: 'moderate' },
  ]);
});

test.each(['api', 'oauth'] as const)('a token of the kind %s can have at most 100 boards', async kind => {
  const own = await createWorld(db);
  const ids = await db.sql<{ id: number }>(
    `insert into boards (account_id, slug, name)
    select $1, 'board-' || n, 'A board' from generate_series(1, 100) n returning id`,
    [own.accountId],
  );
  const boards = [own.boardId, ...ids.map(({ id }) => id)].map(boardId => ({ boardId, grant: 'read' as const }));
  const wanted = { ...input, accountId: own.accountId, issuerId: own.ownerId, kind };
  const create = (count: number) => (admin: Administration) =>
    createToken(admin, { ...wanted, boards: boards.slice(0, count) });
  await expectRefusal(db, create(101), 'invalid', 'A token can have at most 100 boards: choose fewer');
  const { token } = await administer(db, create(100));
  expect(await db.sql('select from api_token_boards where token_id = $1', [token.id])).toHaveLength(100);
});

test('a token cannot be created for an account whose plan excludes the Agent API, but the plan `community` never excludes it', async () => {
  const plan = (name: string) => db.sql('update accounts set plan = $2 where id = $1', [world.accountId, name]);
  await plan('free');
  await expectRefusal(
    db,
    admin => createToken(admin, input, ['free', 'trial']),
    'forbidden',
    'The plan free of the account does not allow the Agent API',
  );
  await administer(db, admin => createToken(admin, input, ['trial']));
  await plan('community');
  await administer(db, admin => createToken(admin, input, ['community']));
});

test('the expiry of a new token must be in the future', async () => {
  const now = new Date('2026-03-01T00:00:00Z');
  const create = (expiresAt: Date) => administer(db, admin => createToken(admin, { ...input, expiresAt }), now);
  await expect(create(now)).rejects.toThrow('would have expired already');
  const { token } = await create(new Date(now.getTime() + 1));
  expect(token.expiresAt).toEqual(new Date('2026-03-01T00:00:00.001Z'));
});

test('the database does not store the plaintext of a token, only the SHA-256 of its secret', async () => {
  const { token, plaintext } = await administer(db, admin => createToken(admin, { ...input, name: ' Padded ' }));
  const secret = plaintext.split('_').slice(2).join('_');
  const [row] = await db.sql<{ row: string; secret_hash: Buffer; name: string }>(
    'select t::text as row, secret_hash, name from api_tokens t where id = $1',
    [token.id],
  );
  expect(row?.secret_hash).toEqual(createHash('sha256').update(secret).digest());
  expect(row?.row).not.toContain(secret);
  expect(row?.name).toBe('Padded');
});

test('the list of API tokens shows the boards and the state of each token, but no secret and no hash', async () => {
  const own = await createWorld(db);
  const now = new Date('2026-03-01T00:00:00Z');
  const make = (name: string, expiresAt?: Date) =>
    administer(
      db,
      admin =>
        createToken(admin, {
          accountId: own.accountId,
          issuerId: own.ownerId,
          name,
          boards: [{ boardId: own.boardId, grant: 'write' }],
          ...(expiresAt && { expiresAt }),
        }),
      now,
    );
  const active = await make('Active');
  const expired = await make('Expired', new Date(now.getTime() + 1000));
  const revoked = await make('Revoked');
  await administer(db, admin => revokeToken(admin, own.accountId, revoked.token.id), now);
  const later = new Date(now.getTime() + 1000);
  await administer(db, admin => revokeToken(admin, own.accountId, revoked.token.id), later);

  const tokens = await administer(db, admin => listTokens(admin, own.accountId), later);
  expect(tokens.map(({ name, state, boards }) => ({ name, state, boards }))).toEqual(
    ['Active', 'Expired', 'Revoked'].map(name => ({
      name,
      state: name.toLowerCase(),
      boards: [{ slug: own.boardSlug, level: 'write' }],
    })),
  );
  expect(new Date(tokens[2]?.revoked_at ?? 0)).toEqual(now);
  for (const { plaintext, token } of [active, expired, revoked]) {
    expect(JSON.stringify(tokens)).not.toContain(plaintext.slice(plaintext.indexOf('_', 3) + 1));
    expect(JSON.stringify(tokens)).not.toContain(token.secretHash.toString('hex'));
  }
});

test('an account cannot revoke a token of another account', async () => {
  const other = await createWorld(db);
  const { token } = await administer(db, admin => createToken(admin, input));
  await expectRefusal(
    db,
    admin => revokeToken(admin, other.accountId, token.id),
    'not_found',
    `The account has no token ${token.id}`,
  );
});

const hourMs = 3_600_000;
const newToken = (changes: Partial<NewToken> = {}, now = new Date()) =>
  administer(db, admin => createToken(admin, { ...input, ...changes }), now);
const rotate = (id: number, rotation: Rotation, now = new Date()) =>
  administer(db, admin => rotateToken(admin, world.accountId, id, rotation), now);
const hashOf = (plaintext: string) => createHash('sha256').update(plaintext.split('_').slice(2).join('_')).digest();
const secretsOf = async (id: number) => {
  const [row] = await db.sql<{ secret_hash: Buffer; previous_secret_hash: Buffer | null; end: string | null }>(
    `select secret_hash, previous_secret_hash, previous_secret_expires_at as end from api_tokens where id = $1`,
    [id],
  );
  return row;
};

test('if two parallel requests rotate a token and keep its old secret valid, the second request is refused, and the old secret still works', async () => {
  const { token, plaintext } = await newToken();
  let first = '';
  const results = await administerAtOnce(
    db,
    async admin => {
      first = await rotateToken(admin, world.accountId, token.id, { overlapHours: 24 });
    },
    admin => rotateToken(admin, world.accountId, token.id, { overlapHours: 24 }),
  );
  expect(results).toMatchObject([{ status: 'fulfilled' }, { reason: { reason: 'conflict' } }]);
  expect(await secretsOf(token.id)).toMatchObject({
    secret_hash: hashOf(first),
    previous_secret_hash: hashOf(plaintext),
  });
});

test("a rotation that replaces only the newest secret of a token changes neither the token's old secret nor the expiry of the old secret", async () => {
  const { token, plaintext } = await newToken();
  await rotate(token.id, { overlapHours: 24 });
  const before = await secretsOf(token.id);
  const newest = await rotate(token.id, { replacesNewest: true });
  expect(await secretsOf(token.id)).toEqual({ ...before, secret_hash: hashOf(newest) });
  expect(before?.previous_secret_hash).toEqual(hashOf(plaintext));
});

test('a token can be rotated again as soon as its old secret has expired or was ended by an admin', async () => {
  const { token } = await newToken();
  const now = new Date();
  const first = await rotate(token.id, { overlapHours: 24 }, now);
  await rotate(token.id, { overlapHours: 24 }, new Date(now.getTime() + 24 * hourMs));
  expect((await secretsOf(token.id))?.previous_secret_hash).toEqual(hashOf(first));
  await administer(db, admin => endOldSecret(admin, world.accountId, token.id));
  expect(await secretsOf(token.id)).toMatchObject({ previous_secret_hash: null, end: null });
  const last = await rotate(token.id, { overlapHours: 0 });
  expect(await secretsOf(token.id)).toMatchObject({ secret_hash: hashOf(last), previous_secret_hash: null });
});

test("a rotation can set a later expiry for a token, but the token's old secret never works longer than before the rotation", async () => {
  const now = new Date('2026-03-14T09:00:00Z');
  const expiresAt = new Date('2026-03-14T15:00:00Z');
  const later = new Date('2026-06-14T00:00:00Z');
  const { token } = await newToken({ expiresAt }, now);
  await rotate(token.id, { overlapHours: 48, expiresAt: later }, now);
  expect(new Date((await secretsOf(token.id))?.end ?? '')).toEqual(expiresAt);

  // A rotation can extend an expired token, but the previous secret of the token stays expired.
  const { token: expired } = await newToken({ expiresAt }, now);
  await rotate(expired.id, { overlapHours: 48, expiresAt: null }, expiresAt);
  expect(await secretsOf(expired.id)).toMatchObject({ previous_secret_hash: null, end: null });
  const [row] = await db.sql('select expires_at from api_tokens where id = $1', [expired.id]);
  expect(row).toEqual({ expires_at: null });
});

test.each<[string, Rotation, 'invalid' | 'conflict', string]>([
  ['a negative overlap', { overlapHours: -1 }, 'invalid', 'from 0 to 168'],
  ['an overlap of more than seven days', { overlapHours: 169 }, 'invalid', 'from 0 to 168'],
  ['an overlap with a fraction', { overlapHours: 1.5 }, 'invalid', 'from 0 to 168'],
  ['a past expiry', { overlapHours: 1, expiresAt: new Date(0) }, 'invalid', 'in the future'],
  ['the option to replace only the newest secret', { replacesNewest: true }, 'conflict', 'no longer works'],
])(
  'a rotation of a token that has only one secret is refused if the request has %s',
  async (_, rotation, reason, message) => {
    const { token } = await newToken();
    const work = (admin: Administration) => rotateToken(admin, world.accountId, token.id, rotation);
    await expectRefusal(db, work, reason, message);
  },
);

test('a revoked token, an OAuth grant and a token of another account cannot be rotated', async () => {
  const other = await createWorld(db);
  const { token: revoked } = await newToken();
  await administer(db, admin => revokeToken(admin, world.accountId, revoked.id));
  const { token: oauth } = await newToken({ kind: 'oauth' });
  const { token } = await newToken();
  for (const [accountId, id, reason] of [
    [world.accountId, revoked.id, 'conflict'],
    [world.accountId, oauth.id, 'conflict'],
    [other.accountId, token.id, 'not_found'],
  ] as const) {
    await expectRefusal(db, admin => rotateToken(admin, accountId, id, { overlapHours: 1 }), reason, /./);
  }
});

const maxima = { RATE_LIMIT_READ: 120, RATE_LIMIT_WRITE: 20 };
const none = { readLimit: null, writeLimit: null, allowedNetworks: [] };

test.each([
  ['203.0.113.7', '203.0.113.7/32'],
  [' 203.0.113.0/24 ', '203.0.113.0/24'],
  ['0.0.0.0/0', '0.0.0.0/0'],
  ['2001:DB8:0:0::/32', '2001:db8::/32'],
  ['::1', '::1/128'],
  ['::ffff:203.0.113.0/120', '203.0.113.0/24'],
])('the server stores the allowed network %s of a token as %s', async (given, stored) => {
  const { token } = await newToken({ restrictions: checkRestrictions({ ...none, allowedNetworks: [given] }, maxima) });
  expect(await db.sql('select allowed_networks from api_tokens where id = $1', [token.id])).toEqual([
    { allowed_networks: [stored] },
  ]);
});

test.each([
  '203.0.113.7/24',
  '203.0.113.0/33',
  '203.0.113/24',
  '2001:db8::/129',
  '2001:db8::1/32',
  'fe80::1%eth0',
  'example.com',
  '10.0.0.0/8/8',
  '',
])('the server refuses "%s" as an allowed network of a token', given => {
  expect(() => checkRestrictions({ ...none, allowedNetworks: [given] }, maxima)).toThrow('is not a network such as');
});

test("a token can have at most 20 allowed networks, and the token's own rate limits cannot exceed the limits of the server", async () => {
  const networks = (count: number) => Array.from({ length: count }, (_, n) => `10.${n}.0.0/16`);
  const check = (changes: object) => () => checkRestrictions({ ...none, ...changes }, maxima);
  expect(check({ allowedNetworks: networks(21) })).toThrow('at most 20 networks');
  for (const limit of [0, 121, -1, 1.5, Number.NaN]) expect(check({ readLimit: limit })).toThrow('from 1 to 120');
  for (const limit of [0, 21, 2 ** 40]) expect(check({ writeLimit: limit })).toThrow('from 1 to 20');

  const { token } = await newToken();
  const full = check({ readLimit: 120, writeLimit: 1, allowedNetworks: [...networks(20), '10.0.0.0/16'] })();
  await administer(db, admin => restrictToken(admin, world.accountId, token.id, full));
  expect(
    await db.sql('select read_limit, write_limit, allowed_networks from api_tokens where id = $1', [token.id]),
  ).toEqual([{ read_limit: 120, write_limit: 1, allowed_networks: networks(20) }]);
  await administer(db, admin => revokeToken(admin, world.accountId, token.id));
  await expectRefusal(db, admin => restrictToken(admin, world.accountId, token.id, none), 'conflict', 'is revoked');
});
