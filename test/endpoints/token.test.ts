import { expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createMember, createWorld, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

const clock = testClock('2026-03-14T09:26:15.000Z');

const server = await startServerForFile({ clock, environment: { RATE_LIMIT_READ: '120', RATE_LIMIT_WRITE: '20' } });
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
    buckets: {
      'apitoken:read': { limit: 120, remaining: 120, reset: 45 },
      'apitoken:write': { limit: 20, remaining: 20, reset: 2025 },
    },
  });
});

test('the response of GET /api/v1/token has expires_at null if the token has no expiry, and does not contain the secret of the token', async () => {
  const { token } = await issueToken(server, world, 'write');
  const { body, text } = await self(token);
  expect(body.expires_at).toBeNull();
  expect(text).not.toContain(token.replace(/^ib_\d+_/, ''));
  expect(text).not.toMatch(/hash|secret|email/);
});

test.each([
  ['owner', true],
  ['admin', true],
  ['moderator', true],
  ['member', false],
  [null, false],
] as const)(
  'for a token with the moderate grant whose issuer has the role %s (null means no member), GET /api/v1/token returns is_moderate_effective %s',
  async (role, isEffective) => {
    const issuerId = await createMember(server, world.accountId, 'admin');
    const { token } = await issueToken(server, world, 'moderate', { issuerId });
    if (role === null) await server.sql('delete from memberships where user_id = $1', [issuerId]);
    else await server.sql('update memberships set role = $2 where user_id = $1', [issuerId, role]);
    expect((await self(token)).body.boards).toMatchObject([{ grant: 'moderate', is_moderate_effective: isEffective }]);
  },
);

test("the server updates the stored time of a token's last use only if this time is more than a minute old", async () => {
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
  // The server did not store the second use of the token, exactly one minute after the first. It stored the third use,
  // a millisecond later.
  await expect.poll(lastUse).toBe('2026-03-14T09:27:15.001Z');
  clock.advance(-60_001);
});

test('a request to GET /api/v1/token is rejected if it has any query parameter, even the parameter board', async () => {
  const { token } = await issueToken(server, world, 'read');
  for (const query of ['board=app', 'x=1']) {
    const answer = await request(server, `GET /api/v1/token?${query}`, { token });
    expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
  }
});
