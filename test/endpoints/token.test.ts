import { expect, test } from 'vitest';
import type { Administration } from '../../server/domain/administration.ts';
import { revokeToken } from '../../server/domain/tokens/change-tokens.ts';
import { endOldSecret, rotateToken } from '../../server/domain/tokens/rotate-token.ts';
import { operatorIn } from '../helpers/administration.ts';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createMember, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

const clock = testClock('2026-03-14T09:26:15.000Z');

const server = await startServerForFile({
  clock,
  environment: { RATE_LIMIT_READ: '120', RATE_LIMIT_WRITE: '20', TRUST_PROXY: '127.0.0.1' },
});
const world = await createWorld(server);

const self = (token: string) => request(server, 'GET /api/v1/token', { token });

test('a token can read its own name, account, issuer, boards with grants, expiry and rate limits', async () => {
  const issuerId = await createMember(server, world.accountId, 'admin', 'Ada Osei');
  const zoo = await createBoard(server, world.accountId, { slug: 'zoo', name: 'Zoo' });
  const app = await createBoard(server, world.accountId, { slug: 'app', name: 'App' });
  await createBoard(server, world.accountId, { slug: 'not-granted' });
  const { token, id } = await issueToken(
    server,
    world,
    { [zoo.id]: 'moderate', [app.id]: 'read' },
    { issuerId, name: 'Release notes bot' },
  );
  await server.sql(`update api_tokens set expires_at = '2026-06-01 12:00:00.5+02' where id = $1`, [id]);
  const { status, body } = await self(token);
  expect(status).toBe(200);
  expect(body).toEqual({
    id,
    name: 'Release notes bot',
    account: { id: world.accountId, name: 'An account' },
    issuer: { id: issuerId, name: 'Ada Osei' },
    boards: [
      { id: app.id, slug: 'app', name: 'App', grant: 'read', is_moderate_effective: false },
      { id: zoo.id, slug: 'zoo', name: 'Zoo', grant: 'moderate', is_moderate_effective: true },
    ],
    capabilities: ['manage_webhooks'],
    expires_at: '2026-06-01T10:00:00.500Z',
    secret_expires_at: null,
    buckets: {
      'apitoken:read': { limit: 120, remaining: 120, reset: 45 },
      'apitoken:write': { limit: 20, remaining: 20, reset: 2025 },
    },
  });
});

test('the response of GET /api/v1/token has `expires_at` null if the token has no expiry, and does not contain the secret of the token', async () => {
  const { token } = await issueToken(server, world, 'write');
  const { body, text } = await self(token);
  expect(body.expires_at).toBeNull();
  expect(text).not.toContain(token.replace(/^ib_\d+_/, ''));
  expect(text.replace('secret_expires_at', '')).not.toMatch(/hash|secret|email/);
});

test.each([
  ['owner', true],
  ['admin', true],
  ['moderator', true],
  ['member', false],
  [null, false],
] as const)(
  'if the issuer of a token with the moderate grant has the role %s (null: no member), GET /api/v1/token returns is_moderate_effective %s',
  async (role, isEffective) => {
    const issuerId = await createMember(server, world.accountId, 'admin');
    const { token } = await issueToken(server, world, 'moderate', { issuerId });
    if (role === null) await server.sql('delete from memberships where user_id = $1', [issuerId]);
    else await server.sql('update memberships set role = $2 where user_id = $1', [issuerId, role]);
    expect((await self(token)).body.boards).toMatchObject([{ grant: 'moderate', is_moderate_effective: isEffective }]);
  },
);

test("the server updates the stored time of a token's last use only if the stored time is more than a minute old", async () => {
  const { token, id } = await issueToken(server, world, 'read', { isUnused: true });
  const lastUse = async () => {
    const [row] = await server.sql<{ at: string | null }>('select last_used_at as at from api_tokens where id = $1', [
      id,
    ]);
    return row?.at ? new Date(row.at).toISOString() : null;
  };
  expect(await lastUse()).toBeNull();
  await self(token);
  await expect.poll(lastUse).toBe('2026-03-14T09:26:15.000Z');
  clock.advance(60_000);
  await self(token);
  clock.advance(1);
  await self(token);
  // The server stores the time of a token's last use only if the stored time is more than a minute old. At the second
  // use, the stored time was exactly one minute old. The third use was a millisecond later, so the server stored its
  // time.
  await expect.poll(lastUse).toBe('2026-03-14T09:27:15.001Z');
  clock.advance(-60_001);
});

test('a request to GET /api/v1/token is rejected if it has any query parameter, even the parameter `board`', async () => {
  const { token } = await issueToken(server, world, 'read');
  for (const query of ['board=app', 'x=1']) {
    const answer = await request(server, `GET /api/v1/token?${query}`, { token });
    expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
  }
});

const administer = <T>(work: (admin: Administration) => Promise<T>) =>
  server.database.transaction(transaction => work(operatorIn(transaction, clock.now())));
const hourMs = 3_600_000;

test('after a token rotation, the old and the new secret authenticate the same token until the old secret expires', async () => {
  const { token: old, id } = await issueToken(server, world, 'write');
  const ideaId = await insertIdea(server, world);
  const vote = (token: string, key: string) =>
    request(server, `POST /api/v1/ideas/${ideaId}/vote`, {
      token,
      json: { value: 'up' },
      headers: { 'idempotency-key': key },
    });
  expect((await vote(old, 'first')).body).toMatchObject({ up_count: 1 });
  const fresh = await administer(admin => rotateToken(admin, world.accountId, id, { overlapHours: 24 }));
  expect((await self(old)).body).toMatchObject({ id, secret_expires_at: '2026-03-15T09:26:15.000Z' });
  expect((await self(fresh)).body).toMatchObject({ id, secret_expires_at: null });

  // Both secrets belong to the same token. So two votes with different secrets count as one vote. The requests share
  // one rate limit. A repeated idempotency key gets the stored answer.
  expect((await vote(fresh, 'second')).body).toMatchObject({ up_count: 1, my_vote: 'up' });
  const { headers } = await vote(fresh, 'first');
  expect(headers.get('idempotency-replayed')).toBe('true');
  for (const token of [old, fresh]) {
    expect((await self(token)).body.buckets['apitoken:write'].remaining).toBe(18);
  }

  clock.advance(24 * hourMs - 1);
  expect((await self(old)).status).toBe(200);
  clock.advance(1);
  expect((await self(old)).status).toBe(401);
  expect((await vote(old, 'third')).status).toBe(401);
  expect((await self(fresh)).status).toBe(200);
  clock.advance(-24 * hourMs);
});

test('the old secret of a rotated token gets 401 after an administrator ends this secret early, and all secrets of a revoked token get 401', async () => {
  const { token: old, id } = await issueToken(server, world, 'read');
  const fresh = await administer(admin => rotateToken(admin, world.accountId, id, { overlapHours: 1 }));
  await administer(admin => endOldSecret(admin, world.accountId, id));
  expect([(await self(old)).status, (await self(fresh)).status]).toEqual([401, 200]);
  const newest = await administer(admin => rotateToken(admin, world.accountId, id, { overlapHours: 1 }));
  await administer(admin => revokeToken(admin, world.accountId, id));
  expect([(await self(fresh)).status, (await self(newest)).status]).toEqual([401, 401]);
});

test('parallel requests with the old and the new secret of a rotated token share one rate limit, which belongs to this token', async () => {
  const { token: old, id } = await issueToken(server, world, 'read');
  const fresh = await administer(admin => rotateToken(admin, world.accountId, id, { overlapHours: 1 }));
  await server.sql('update api_tokens set read_limit = 7, write_limit = 500 where id = $1', [id]);
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => request(server, 'GET /api/v1/board', { token: n % 2 ? old : fresh })),
  );
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
  const refused = answers.find(({ status }) => status === 429);
  expect(refused?.body.error.details).toMatchObject({ limit: 'apitoken:read', allowed: 7 });
  expect(refused?.headers.get('x-ratelimit-limit')).toBe('7');
  // If a token's own rate limit is higher than the rate limit of the server, the rate limit of the server applies.
  expect((await self(old)).body.buckets).toMatchObject({
    'apitoken:read': { limit: 7, remaining: 0 },
    'apitoken:write': { limit: 20 },
  });
});

test.each([
  ['{203.0.113.0/24}', '203.0.113.9', 200],
  ['{203.0.113.0/24}', '::ffff:203.0.113.9', 200],
  ['{203.0.113.0/24}', '203.0.114.9', 403],
  ['{203.0.113.0/24,2001:db8::/48}', '2001:db8:0:5::1', 200],
  ['{203.0.113.0/24,2001:db8::/48}', '2001:db8:1::1', 403],
  ['{::/0}', '203.0.113.9', 403],
  ['{0.0.0.0/0}', 'not-an-address', 403],
  ['{}', 'not-an-address', 200],
] as const)(
  'if the allowed networks of a token are %s, a request from the client address %s gets %i',
  async (networks, ip, status) => {
    const { token, id } = await issueToken(server, world, 'write', { isUnused: true });
    await server.sql('update api_tokens set allowed_networks = $2 where id = $1', [id, networks]);
    const send = (given: string) =>
      request(server, 'POST /api/v1/ideas', {
        token: given,
        json: { title: 'An idea', body: 'Its body' },
        headers: { 'x-forwarded-for': ip },
      });
    const ideas = () => server.sql('select id from ideas where board_id = $1', [world.boardId]);
    const counters = () => server.sql('select count from rate_limits where key = $1', [`apitoken:write:${id}`]);
    const before = await ideas();
    const answer = await send(token);
    expect(answer.status).toBe(status === 200 ? 201 : status);
    if (status === 200) return;
    expect(answer.key).toBe('network_not_allowed');
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull();
    // The refused request changes nothing. A client without the right secret gets 401, so it does not learn that the
    // token has allowed networks.
    expect([await ideas(), await counters()]).toEqual([before, []]);
    expect(await server.sql('select last_used_at from api_tokens where id = $1', [id])).toEqual([
      { last_used_at: null },
    ]);
    expect((await send(`ib_${id}_${'A'.repeat(43)}`)).status).toBe(401);
  },
);

test.each([
  ['203.0.113.77', 'app/1 idea-board-client/1.2.3', '203.0.113.0/24', 'idea-board-client/1.2.3'],
  ['::ffff:203.0.113.77', 'curl/8.5.0', '203.0.113.0/24', null],
  ['2001:db8:7:8:9::1', 'idea-board-client/99999.0.0', '2001:db8:7::/48', null],
  ['not-an-address', '', null, null],
])(
  'after a request from %s with the User-Agent "%s", the last use of the token shows the IP network %s and the SDK %s',
  async (ip, agent, network, client) => {
    const { token, id } = await issueToken(server, world, 'read', { isUnused: true });
    await request(server, 'GET /api/v1/token', { token, headers: { 'x-forwarded-for': ip, 'user-agent': agent } });
    await expect
      .poll(() =>
        server.sql(
          'select last_used_network, last_used_client from api_tokens where last_used_at is not null and id = $1',
          [id],
        ),
      )
      .toEqual([{ last_used_network: network, last_used_client: client }]);
  },
);
