import { beforeEach, describe, expect, test } from 'vitest';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createMember, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest, type TestServer } from '../helpers/server.ts';
import { logStatements } from '../helpers/statement-log.ts';

let world: World;
let token: string;
let tokenId: number;

const server = await startServerForFile();
beforeEach(async () => {
  world = await createWorld(server);
  ({ token, id: tokenId } = await issueToken(server, world, 'read'));
  server.auditLines.length = 0;
});

/**
 * Starts a separate server, because an audit log counts equal entries of different tests as repetitions of one entry.
 */
const fresh = (options = {}) => startServerForTest({ on: server, ...options });

const localClient = { ip: expect.stringMatching(/^127\.0\.0\.0\/24#[0-9a-f]{12}$/) };
const time = expect.any(String);

test('the server writes no audit entry for a successful API request or an API request with an unknown id or an invalid status', async () => {
  const { token: moderator } = await issueToken(server, world, 'moderate');
  const ideaId = await insertIdea(server, world);
  for (const line of [
    'GET /api/v1/board',
    'GET /api/v1/ideas?q=x',
    'GET /api/v1/ideas/999999999',
    'GET /health',
    'GET /docs',
  ]) {
    await request(server, line, { token: moderator });
  }
  await request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token: moderator, json: { value: 'up' } });
  await request(server, `POST /api/v1/ideas/${ideaId}/status`, { token: moderator, json: { status: 'nonsense' } });
  expect(server.auditLines).toEqual([]);
});

describe('authentication.failed', () => {
  const other = 'x'.repeat(43);
  const failures: [string, () => Record<string, string>, object][] = [
    ['without a token', () => ({}), { reason: 'missing' }],
    ['with a malformed token', () => ({ authorization: 'Bearer nonsense' }), { reason: 'malformed' }],
    ['with another scheme', () => ({ authorization: `Basic ${token}` }), { reason: 'malformed' }],
    ['with an unknown id', () => ({ authorization: `Bearer ib_999999999_${other}` }), { reason: 'unknown' }],
  ];
  test.each(failures)(
    'the server refuses a request %s, and writes an audit entry with the reason and the IP network of the client',
    async (_, headers, told) => {
      const own = await fresh();
      const answer = await request(own, 'GET /api/v1/board', { headers: headers() });
      expect(answer.status).toBe(401);
      const [line, ...others] = readAudit(own.auditLines);
      const requestId = answer.headers.get('x-request-id');
      expect(line).toEqual({ event: 'authentication.failed', time, ...localClient, request_id: requestId, ...told });
      expect(others).toEqual([]);
    },
  );

  test("the audit entry for a request with a wrong secret has the token's id, but no part of the right or the wrong secret", async () => {
    const own = await fresh();
    await request(own, 'GET /api/v1/board', { token: `ib_${tokenId}_${other}` });
    expect(readAudit(own.auditLines)).toMatchObject([
      { event: 'authentication.failed', reason: 'wrong_secret', token_id: tokenId, account_id: world.accountId },
    ]);
    expect(own.auditLines.join('')).not.toContain(other.slice(0, 8));
    expect(own.auditLines.join('')).not.toContain(token.slice(-8));
  });

  test('the server runs only one SQL statement for a request that fails authentication', async () => {
    const { statements } = await logStatements(() => request(server, 'GET /api/v1/board', { token: `${token}x` }));
    expect(statements).toHaveLength(1);
  });
});

test('the audit log records token.used_after_revocation only for requests with the correct secret of a revoked token', async () => {
  const own = await fresh();
  await server.sql('update api_tokens set revoked_at = now() where id = $1', [tokenId]);
  await request(own, 'GET /api/v1/board', { token });
  await request(own, 'GET /api/v1/board', { token: `ib_${tokenId}_${'x'.repeat(43)}` });
  expect(readAudit(own.auditLines)).toEqual([
    {
      event: 'token.used_after_revocation',
      time,
      ...localClient,
      request_id: expect.any(String),
      account_id: world.accountId,
      token_id: tokenId,
    },
    expect.objectContaining({ event: 'authentication.failed', reason: 'wrong_secret', token_id: tokenId }),
  ]);
});

test('the audit log records token.used_after_expiry when a client uses an expired token', async () => {
  const clock = testClock('2026-03-14T09:00:00Z');
  const own = await fresh({ clock });
  const expiring = await issueToken(server, world, 'read', { expiresAt: new Date('2026-03-14T09:00:00.001Z') });
  await request(own, 'GET /api/v1/board', { token: expiring.token });
  expect(own.auditLines).toEqual([]);
  clock.advance(1);
  await request(own, 'GET /api/v1/board', { token: expiring.token });
  expect(readAudit(own.auditLines)).toMatchObject([
    { event: 'token.used_after_expiry', ...localClient, token_id: expiring.id, account_id: world.accountId },
  ]);
});

describe('grant.refused', () => {
  test("if a token's grants, allowed networks or issuer or the account's plan forbid a request, the audit entry has the error key and token id", async () => {
    const own = await fresh({ environment: { PLANS_WITHOUT_AGENT_API: 'free' } });
    const memberId = await createMember(server, world.accountId, 'member');
    const formerModerator = await issueToken(server, world, 'moderate', { issuerId: memberId });
    const writer = await issueToken(server, world, 'write', { issuerId: memberId });
    const ideaId = await insertIdea(server, world);
    const asked: [string, string, number, number][] = [
      ['insufficient_scope', token, tokenId, world.ownerId],
      ['token_issuer_not_moderator', formerModerator.token, formerModerator.id, memberId],
    ];
    for (const [, one] of asked)
      await request(own, `POST /api/v1/ideas/${ideaId}/status`, { token: one, json: { status: 'done' } });

    await request(own, 'GET /api/v1/board?board=not-granted', { token });
    asked.push(['board_not_granted', token, tokenId, world.ownerId]);

    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, memberId]);
    await request(own, 'POST /api/v1/ideas', { token: writer.token, json: { title: 'A', body: 'B' } });
    asked.push(['user_blocked', writer.token, writer.id, memberId]);

    const elsewhere = await issueToken(server, world, 'read');
    await server.sql(`update api_tokens set allowed_networks = '{192.0.2.0/24}' where id = $1`, [elsewhere.id]);
    await request(own, 'GET /api/v1/board', { token: elsewhere.token });
    asked.push(['network_not_allowed', elsewhere.token, elsewhere.id, world.ownerId]);

    await server.sql(`update accounts set plan = 'free' where id = $1`, [world.accountId]);
    await request(own, 'GET /api/v1/board', { token });
    asked.push(['agent_api_unavailable', token, tokenId, world.ownerId]);

    expect(readAudit(own.auditLines)).toEqual(
      asked.map(([reason, , id, issuerId]) => ({
        event: 'grant.refused',
        time,
        ...localClient,
        request_id: expect.any(String),
        reason,
        account_id: world.accountId,
        token_id: id,
        user_id: issuerId,
      })),
    );
    expect(own.auditLines.join('')).not.toContain('not-granted');
  });

  test('the server writes no audit entry for a request that gets the error board_required', async () => {
    const { id: second } = await createBoard(server, world.accountId);
    const both = await issueToken(server, world, { [world.boardId]: 'read', [second]: 'read' });
    expect((await request(server, 'GET /api/v1/board', { token: both.token })).key).toBe('board_required');
    expect(server.auditLines).toEqual([]);
  });
});

describe('rate_limit.exceeded', () => {
  const clock = testClock('2026-03-14T09:00:00Z');
  const limited = () =>
    fresh({ clock, environment: { RATE_LIMIT_READ: '3', RATE_LIMIT_WRITE: '2', RATE_LIMIT_IP: '1000000' } });

  test('two servers with one database together record the audit event rate_limit.exceeded only once for a token in each rate limit window', async () => {
    const servers = [await limited(), await limited()];
    const hammer = () =>
      Promise.all(
        Array.from({ length: 40 }, (_, n) => request(servers[n % 2] as TestServer, 'GET /api/v1/board', { token })),
      );
    const told = () => readAudit(servers.flatMap(({ auditLines }) => auditLines));
    expect((await hammer()).filter(({ status }) => status === 429)).toHaveLength(37);
    expect(told()).toEqual([
      {
        event: 'rate_limit.exceeded',
        time,
        ...localClient,
        request_id: expect.any(String),
        bucket: 'apitoken:read',
        limit: 3,
        window_seconds: 60,
        account_id: world.accountId,
        token_id: tokenId,
      },
    ]);
    await hammer();
    expect(told()).toHaveLength(1);
    clock.advance(60_000);
    await hammer();
    expect(told()).toHaveLength(2);
  });

  test('the audit entry rate_limit.exceeded names the IP network of the client, and the token if the request has one', async () => {
    const own = await fresh({
      clock: testClock('2026-04-01T00:00:00Z'),
      environment: { RATE_LIMIT_IP: '2', TRUST_PROXY: 'true' },
    });
    const from = (ip: string) => ({ 'x-forwarded-for': ip });
    for (let n = 0; n < 5; n++) await request(own, 'GET /ready', { headers: from('2001:db8:1:2::7') });
    for (let n = 0; n < 5; n++) await request(own, 'GET /api/v1/board', { token, headers: from('198.51.100.9') });
    const lines = readAudit(own.auditLines).filter(({ event }) => event === 'rate_limit.exceeded');
    expect(lines).toMatchObject([
      { bucket: 'ip', limit: 2, ip: expect.stringMatching(/^2001:db8:1::\/48#[0-9a-f]{12}$/) },
      { bucket: 'ip', limit: 2, ip: expect.stringMatching(/^198\.51\.100\.0\/24#[0-9a-f]{12}$/), token_id: tokenId },
    ]);
    expect(lines[0]).not.toHaveProperty('token_id');
    expect(own.auditLines.join('')).not.toContain('198.51.100.9');
    expect(own.auditLines.join('')).not.toContain('2001:db8:1:2');
  });

  test('the audit log records rate_limit.exceeded even if the request that exceeds the limit reuses an Idempotency-Key', async () => {
    const own = await limited();
    const writer = await issueToken(server, world, 'write');
    const headers = { 'idempotency-key': 'one' };
    const send = (title: string) =>
      request(own, 'POST /api/v1/ideas', { token: writer.token, headers, json: { title, body: 'B' } });
    expect((await send('First')).status).toBe(201);
    for (const key of ['idempotency_key_reused', 'rate_limited', 'rate_limited']) {
      expect((await send('Another')).key).toBe(key);
    }
    expect(readAudit(own.auditLines)).toMatchObject([{ bucket: 'apitoken:write', token_id: writer.id }]);
  });
});

test('the audit log records readiness.not_ready with the failed checks for every failed request to /ready', async () => {
  const own = await fresh();
  await server.sql('delete from heartbeats');
  for (let n = 0; n < 2; n++) expect((await request(own, 'GET /ready')).status).toBe(503);
  const line = { event: 'readiness.not_ready', time, failed: ['cron'] };
  expect(readAudit(own.auditLines)).toEqual([line, line]);
});

test("the server writes an audit entry if requests exceed the rate limit of the client's IP address, even for an invalid path", async () => {
  const own = await fresh({ clock: testClock('2099-05-01T00:00:00Z'), environment: { RATE_LIMIT_IP: '1' } });
  for (let n = 0; n < 3; n++) await rawRequest(own, 'GET', '/api/v1/ideas/%zz');
  expect(readAudit(own.auditLines)).toMatchObject([{ event: 'rate_limit.exceeded', bucket: 'ip' }]);
});
