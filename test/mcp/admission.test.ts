import { pino } from 'pino';
import { describe, expect, onTestFinished, test } from 'vitest';
import { adviceFor } from '../../contract/advice.ts';
import { openDatabase } from '../../server/database/database.ts';
import { keyedErrorOf } from '../../server/mcp/json-rpc-error.ts';
import { allowsOrigin } from '../../server/mcp/serve-tools.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startProxy } from '../helpers/proxy.ts';
import { type Answer, type RequestOptions, request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { callTool } from './call-tool.ts';

const clock = testClock('2026-03-14T09:00:10.000Z');
const limits = { RATE_LIMIT_READ: '10', RATE_LIMIT_WRITE: '5', RATE_LIMIT_IP: '100000' };

const origins = { BASE_URL: 'https://ideas.example.com/', CORS_ORIGINS: 'https://app.example.com' };
const server = await startServerForFile({
  clock,
  environment: { ...limits, ...origins, PLANS_WITHOUT_AGENT_API: 'starter' },
});
const world = await createWorld(server);
const ideaId = await insertIdea(server, world);

const newToken = () => issueToken(server, world, 'write');
const post = (options: RequestOptions) => request(server, 'POST /api/v1/mcp', options);
const list = { jsonrpc: '2.0', id: 'list-1', method: 'tools/list' };

const countsOf = async (tokenId: number) => {
  const rows = await server.sql<{ key: string; count: number }>(
    `select key, count from rate_limits where key like 'apitoken:%:' || $1 order by key`,
    [tokenId],
  );
  return Object.fromEntries(rows.map(({ key, count }) => [key.replace(`:${tokenId}`, ''), count]));
};

/** Fails unless the answer is a JSON-RPC error that contains the given error key of the API. */
function expectRefusal(answer: Answer, status: number, key: string, code: number, id: string | null = null) {
  expect(answer).toMatchObject({ status, key, body: { jsonrpc: '2.0', id, error: { code, data: { key } } } });
  expect(answer.body.error.message).toMatch(/^[A-Z]/);
}

describe('a refused MCP request', () => {
  const metadataUrl = 'https://ideas.example.com/.well-known/oauth-protected-resource/api/v1/mcp';

  test('an MCP request without a valid token gets 401 with the OAuth metadata URL in WWW-Authenticate, regardless of its body', async () => {
    const challenge = `Bearer resource_metadata="${metadataUrl}", scope="mcp"`;
    const bodies: RequestOptions[] = [
      { json: list },
      {},
      { raw: '{', headers: { 'content-type': 'application/json' } },
      { raw: 'x', headers: { 'content-type': 'text/plain' } },
      { json: 'x'.repeat(70_000) },
      { json: [list] },
      { json: { ...list, method: 'no/such' } },
    ];
    for (const body of bodies) {
      const without = await post(body);
      expect(without).toMatchObject({ status: 401, key: 'unauthorized' });
      expect(without.headers.get('www-authenticate')).toBe(challenge);
      const wrong = await post({ ...body, token: 'ib_1_wrong' });
      expect(wrong).toMatchObject({ status: 401, key: 'unauthorized' });
      expect(wrong.headers.get('www-authenticate')).toBe(`${challenge}, error="invalid_token"`);
    }
    expectRefusal(await post({ json: list }), 401, 'unauthorized', -32_000, 'list-1');
    // The REST API does not accept OAuth tokens. So its 401 response has no header WWW-Authenticate.
    expect((await request(server, 'GET /api/v1/board')).headers.get('www-authenticate')).toBeNull();
  });

  test('the audit log has an entry for an MCP request with a revoked token and for a tool call without the required grant', async () => {
    const { token } = await issueToken(server, world, 'read');
    const told = server.auditLines.length;
    const headers = { 'x-request-id': 'a-call' };
    const { token: revoked, id } = await newToken();
    await server.sql('update api_tokens set revoked_at = now() where id = $1', [id]);
    await post({ json: list, token: revoked, headers });
    await callTool(server, { token, name: 'vote_idea', args: { id: ideaId, value: 'up' }, headers });
    expect(readAudit(server.auditLines.slice(told))).toMatchObject([
      { event: 'token.used_after_revocation', request_id: 'a-call', token_id: id },
      { event: 'grant.refused', request_id: 'a-call', reason: 'insufficient_scope' },
    ]);
  });

  test("if the account's plan does not include the Agent API, a tool call returns the error agent_api_unavailable", async () => {
    const other = await createWorld(server);
    const { token } = await issueToken(server, other, 'write');
    await server.sql(`update accounts set plan = 'starter' where id = $1`, [other.accountId]);
    expectRefusal(await post({ json: list, token }), 403, 'agent_api_unavailable', -32_000, 'list-1');
    const called = await callTool(server, { token, name: 'whoami' });
    expect(called.body.result).toMatchObject({ isError: true });
    expect(called.body.result.content[0].text).toContain('"agent_api_unavailable"');
  });

  test("an MCP request from a web page whose origin is not allowed is refused and does not count against the token's rate limit", async () => {
    const { token, id } = await newToken();
    for (const origin of [
      'https://evil.example.com',
      'null',
      'http://ideas.example.com',
      'https://ideas.example.com.evil.example',
    ]) {
      const answer = await callTool(server, { token, name: 'whoami', headers: { origin } });
      expectRefusal(answer, 403, 'origin_not_allowed', -32_000, 'call-1');
      expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    }
    expect(await countsOf(id)).toEqual({});
    for (const origin of ['https://ideas.example.com', 'https://app.example.com']) {
      expect((await callTool(server, { token, name: 'whoami', headers: { origin } })).status).toBe(200);
    }
  });

  test('allowsOrigin() of the MCP endpoint accepts every origin if CORS_ORIGINS is *, not only the origin of BASE_URL', () => {
    const isAllowed = allowsOrigin({ BASE_URL: 'https://ideas.example.com/', CORS_ORIGINS: ['*'] });
    expect(isAllowed('https://anybody.example.com')).toBe(true);
  });

  test('a web page of an allowed origin can send the MCP headers and read the WWW-Authenticate header', async () => {
    const headers = { origin: 'https://app.example.com', 'access-control-request-method': 'POST' };
    const preflight = await request(server, 'OPTIONS /api/v1/mcp', { headers });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/MCP-Protocol-Version.*Mcp-Method.*Mcp-Name/);
    const refused = await post({ json: list, headers: { origin: 'https://app.example.com' } });
    expect(refused.headers.get('access-control-expose-headers')).toContain('WWW-Authenticate');
  });
});

describe('an invalid MCP message', () => {
  const sentWith = (more: string): RequestOptions => ({
    raw: `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"get_idea","arguments":{},"more":${more}}}`,
    headers: { 'content-type': 'application/json' },
  });

  test.each<[what: string, sent: RequestOptions, status: number, key: string, code: number]>([
    [
      'broken JSON',
      { raw: '{"jsonrpc":', headers: { 'content-type': 'application/json' } },
      400,
      'malformed_json',
      -32_700,
    ],
    [
      'invalid UTF-8',
      { raw: Buffer.from([0x22, 0xff, 0x22]), headers: { 'content-type': 'application/json' } },
      400,
      'malformed_json',
      -32_700,
    ],
    ['too large', { json: 'x'.repeat(65_537) }, 413, 'payload_too_large', -32_000],
    ['XML', { raw: '<a/>', headers: { 'content-type': 'text/xml' } }, 415, 'unsupported_media_type', -32_000],
    ['missing', {}, 400, 'invalid_message', -32_600],
    ['a JSON string', { json: 'tools/list' }, 400, 'invalid_message', -32_600],
    ['an array of messages', { json: [list, list] }, 400, 'invalid_message', -32_600],
    ['an empty array', { json: [] }, 400, 'invalid_message', -32_600],
    ['an object without JSON-RPC', { json: { method: 'tools/list' } }, 400, 'invalid_message', -32_600],
    // The server must check this body before the SDK reads it, because the SDK would write an error for each value in
    // the body.
    ['an object with very many values', sentWith(`[${'1,'.repeat(10_000)}1]`), 400, 'invalid_message', -32_600],
    // The server must check this body before the SDK reads it, because the SDK would overflow the call stack.
    ['a very deeply nested object', sentWith('['.repeat(5000) + ']'.repeat(5000)), 400, 'invalid_message', -32_600],
  ])('an MCP request is refused with a JSON-RPC error if its body is %s', async (_, sent, status, key, code) => {
    const { token, id } = await newToken();
    expectRefusal(await post({ ...sent, token }), status, key, code);
    expect(await countsOf(id)).toEqual({});
  });

  test('the server refuses an MCP request with an array of tool calls and runs none of these calls', async () => {
    const { token } = await newToken();
    const vote = {
      jsonrpc: '2.0',
      method: 'tools/call',
      params: { name: 'vote_idea', arguments: { id: ideaId, value: 'up' } },
    };
    const headers = { 'mcp-protocol-version': '2025-03-26' };
    expectRefusal(
      await post({
        token,
        headers,
        json: [
          { ...vote, id: 1 },
          { ...vote, id: 2 },
        ],
      }),
      400,
      'invalid_message',
      -32_600,
    );
    expect(await server.sql('select from votes where idea_id = $1', [ideaId])).toEqual([]);
  });

  test('an MCP request with an unknown query parameter is refused', async () => {
    const { token } = await newToken();
    const answer = await request(server, 'POST /api/v1/mcp?colour=red', { token, json: list });
    expectRefusal(answer, 422, 'validation_failed', -32_600, 'list-1');
    expect(answer.body.error.issues).toMatchObject([{ path: ['query'], code: 'unrecognized_keys' }]);
  });

  test.each(['GET', 'HEAD', 'DELETE', 'PUT'])('an MCP request with the method %s gets 405', async method => {
    const answer = await request(server, `${method} /api/v1/mcp`, { headers: { accept: 'text/event-stream' } });
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
  });
});

describe('the rate limits of a token', () => {
  test('REST requests and tool calls share the rate limits of a token, also when they run in parallel', async () => {
    const { token, id } = await newToken();
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, n) =>
        n % 2 === 0
          ? request(server, 'GET /api/v1/board', { token })
          : callTool(server, { token, name: 'get_board', form: n % 4 === 1 ? 'modern' : 'legacy-unusual' }),
      ),
    );
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(30);
    expect(await countsOf(id)).toEqual({ 'apitoken:read': 40 });
    expect((await callTool(server, { token, name: 'vote_idea', args: { id: ideaId, value: 'none' } })).status).toBe(
      200,
    );
  });

  test("a tool call that exceeds its token's write limit gets 429 with Retry-After, but tools/list and the tool whoami still work", async () => {
    const { token, id } = await newToken();
    const call = () => callTool(server, { token, name: 'create_idea', args: { title: 'One more', body: 'B' } });
    for (let n = 0; n < 5; n++) expect((await call()).status).toBe(200);
    const told = server.auditLines.length;
    const refused = await call();
    expectRefusal(refused, 429, 'rate_limited', -32_000, 'call-1');
    expect(refused.headers.get('retry-after')).toBe('3590');
    const details = { limit: 'apitoken:write', allowed: 5, window_seconds: 3600, retry_after: 3590 };
    expect(refused.body.error.message).toBe(
      'The limit of 5 writes per hour for this token is exceeded. Try again in 3590 seconds.',
    );
    expect(refused.body.error).toMatchObject({ details, data: { retry_after: 3590, details } });
    expect(readAudit(server.auditLines.slice(told))).toMatchObject([{ event: 'rate_limit.exceeded', token_id: id }]);
    expect((await post({ token, json: list })).status).toBe(200);
    const { body } = await callTool(server, { token, name: 'whoami' });
    expect(body.result.structuredContent.buckets['apitoken:write']).toMatchObject({ limit: 5, remaining: 0 });
    expect(await countsOf(id)).toEqual({ 'apitoken:write': 6 });
    expect(await server.sql(`select from ideas where title = 'One more'`)).toHaveLength(5);
  });

  test("a read-only tool call counts against its token's read limit even if the call repeats the idempotency key of an earlier write", async () => {
    const { token } = await newToken();
    const meta = { 'idea-board/idempotency-key': 'of-a-write' };
    await callTool(server, { token, name: 'create_idea', args: { title: 'Under a key', body: 'B' }, meta });
    const reads = Array.from({ length: 12 }, () => callTool(server, { token, name: 'list_ideas', meta }));
    const answers = await Promise.all(reads);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
  });

  test('tool calls that are refused or have invalid arguments count against the rate limits of their token', async () => {
    const { token, id } = await newToken();
    await callTool(server, { token, name: 'set_idea_status', args: { id: ideaId, status: 'planned' } });
    await callTool(server, { token, name: 'vote_idea', args: {} });
    await callTool(server, { token, name: 'get_idea', args: { id: 999_999_999 } });
    expect(await countsOf(id)).toEqual({ 'apitoken:read': 1, 'apitoken:write': 2 });
  });
});

test("every MCP message counts against the rate limit of the client's IP address", async () => {
  const small = await startServerForTest({ clock, environment: { RATE_LIMIT_IP: '3' } });
  const { token } = await issueToken(small, await createWorld(small), 'read');
  const send = (options: RequestOptions) => request(small, 'POST /api/v1/mcp', options);
  await small.sql(`delete from rate_limits`);
  const answers = [
    await send({ token, json: list }),
    await send({ json: list }),
    await send({ token, json: list, headers: { origin: 'https://evil.example.com' } }),
    await send({ token, json: list }),
    await send({ token, json: [list] }),
    await send({ json: list, headers: { origin: 'https://evil.example.com' } }),
    await send({ raw: '{', headers: { 'content-type': 'application/json' } }),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 403, 429, 429, 429, 429]);
  expect(answers[3]?.headers.get('retry-after')).toMatch(/^\d+$/);
});

describe('a failure of the server or the database', () => {
  test('while the database is unavailable, MCP requests get 503, and tool calls work again when the database is back', async () => {
    const proxy = await startProxy(server.url);
    const logger = pino({ level: 'silent' });
    const database = await openDatabase({
      url: proxy.url,
      poolSize: 2,
      connectTimeoutMs: 2000,
      statementTimeoutMs: 2000,
      logger,
    });
    onTestFinished(() => proxy.close());
    onTestFinished(() => database.close());
    const fragile = await startServerForTest({ on: { ...server, database } });
    const { token } = await newToken();
    const call = () => callTool(fragile, { token, name: 'get_idea', args: { id: ideaId } });
    expect((await call()).status).toBe(200);
    proxy.sever();
    for (const answer of [await call(), await request(fragile, 'POST /api/v1/mcp', { token, json: list })]) {
      expect(answer).toMatchObject({ status: 503, key: 'service_unavailable' });
      expect(answer.headers.get('retry-after')).toBe('5');
      expect(answer.body.error).toMatchObject({ code: -32_000, data: { key: 'service_unavailable', retry_after: 5 } });
    }
    proxy.restore();
    expect((await call()).status).toBe(200);
  });

  test('the error for invalid JSON has the usual JSON-RPC message, without the internal error message of the MCP SDK', () => {
    const error = { code: -32_700, message: 'Parse error', data: 'RangeError: Maximum call stack size exceeded' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: null, error });
    const key = 'invalid_message';
    expect(keyedErrorOf(400, body)?.error).toEqual({ ...error, key, data: { key, advice: adviceFor(key) } });
  });

  test("a tool call that ends in an internal error counts only once against the rate limit of the client's IP address", async () => {
    const { token, id } = await newToken();
    const meta = { 'idea-board/idempotency-key': 'a-key' };
    const create = (title: string) =>
      callTool(server, { token, name: 'create_idea', args: { title, body: 'B' }, meta });
    await create('Charged once');
    // A tool call with a used idempotency key counts against the token's rate limit only just before the answer. The
    // trigger makes the update of the rate limit counter fail.
    await server.sql(`
      create function fail_charge() returns trigger language plpgsql as $$ begin raise 'no charge'; end $$;
      create trigger fail_charge before insert or update on rate_limits for each row
        when (new.key = 'apitoken:write:${id}') execute function fail_charge()`);
    onTestFinished(async () => {
      await server.sql('drop trigger fail_charge on rate_limits; drop function fail_charge');
    });
    const ofAddress = () =>
      server.sql<{ key: string; count: number }>(`select key, count from rate_limits where key not like 'apitoken:%'`);
    const [before] = await ofAddress();
    expectRefusal(await create('Something else'), 500, 'internal_error', -32_603, 'call-1');
    expect(await ofAddress()).toEqual([{ ...before, count: Number(before?.count) + 1 }]);
  });

  test('the answer to a tool call with an internal error reveals no details of the error, and the log contains these details', async () => {
    const { token } = await newToken();
    await server.sql('alter table idea_tags rename to gone');
    onTestFinished(async () => {
      await server.sql('alter table gone rename to idea_tags');
    });
    for (const form of ['modern', 'legacy-unusual'] as const) {
      const logged = server.logLines.length;
      const answer = await callTool(server, { token, name: 'get_idea', args: { id: ideaId }, form });
      expectRefusal(answer, 500, 'internal_error', -32_603, 'call-1');
      expect(answer.text).not.toMatch(/idea_tags|relation|select|stack/);
      const failed = server.logLines.slice(logged).filter(line => line.includes('a request failed'));
      expect(failed).toHaveLength(1);
      expect(failed[0]).toContain('idea_tags');
    }
  });
});

test('the log has one line for each MCP message, with the name of the tool and without the arguments', async () => {
  const issuerId = await createMember(server, world.accountId, 'member');
  const { token, id } = await issueToken(server, world, 'write', { issuerId });
  const logged = server.logLines.length;
  await callTool(server, { token, name: 'create_idea', args: { title: 'Between us', body: 'Not for the log.' } });
  await post({ token, json: list });
  const lines = server.logLines.slice(logged).map(line => JSON.parse(line));
  expect(lines).toMatchObject([
    { msg: 'request', method: 'POST', path: '/api/v1/mcp', status: 200, tokenId: id, tool: 'create_idea' },
    { msg: 'request', method: 'POST', path: '/api/v1/mcp', status: 200, tokenId: id },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/Between us|Not for the log/);
});
