import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import { testClock } from '../helpers/clock.ts';
import { createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServer, startServerForTest, type TestServer } from '../helpers/server.ts';

const ours = 'https://app.example.com';
const others = ['https://evil.example', 'null', 'http://app.example.com', 'https://app.example.com.evil.example'];

let server: TestServer;
let world: World;
let token: string;

beforeAll(async () => {
  server = await startServer({ environment: { CORS_ORIGINS: `${ours}, http://localhost:5173` } });
  world = await createWorld(server);
  ({ token } = await issueToken(server, world, 'write'));
});

afterAll(() => server.close());

function corsOf({ headers }: Answer) {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'));
}

/** What a browser asks before it lets a page send a request that has more than a form has. */
function preflight(to: Pick<TestServer, 'baseUrl'>, path: string, origin: string, method = 'POST'): Promise<Answer> {
  const headers = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type,idempotency-key',
  };
  return request(to, `OPTIONS ${path}`, { headers });
}

const exposed =
  'ETag, Idempotency-Replayed, RateLimit, RateLimit-Policy, Retry-After, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

describe('a page of an origin that is allowed', () => {
  test('may ask before it sends, and learns what it may send', async () => {
    const answer = await preflight(server, '/api/v1/ideas', ours);
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 204, text: '' });
    expect(corsOf(answer)).toEqual({
      'access-control-allow-origin': ours,
      'access-control-allow-methods': 'GET, HEAD, POST',
      'access-control-allow-headers':
        'Authorization, Content-Type, Idempotency-Key, If-None-Match, MCP-Protocol-Version, Mcp-Method, Mcp-Name, X-Request-Id',
      'access-control-expose-headers': exposed,
      'access-control-max-age': '7200',
      vary: 'Origin',
    });
    expect(
      (await preflight(server, '/api/v1/ideas/1/tags/2', ours, 'DELETE')).headers.get('access-control-allow-methods'),
    ).toBe('DELETE');
  });

  test.each([
    ['a success', 'GET /api/v1/ideas', 200],
    ['a refusal', 'GET /api/v1/ideas/999999999', 404],
    ['a path that is none', 'GET /api/v1/nothing', 404],
    ['a path that cannot be looked up', 'GET /api/v1/ideas/%ff', 404],
    ['a method that is none', 'PUT /api/v1/ideas', 405],
    ['the document', 'GET /api/v1/openapi.json', 200],
  ])('may read %s, and its headers', async (_, line, status) => {
    const answer = await request(server, line, { token, headers: { origin: ours } });
    expect(answer.status).toBe(status);
    expect(corsOf(answer)).toEqual({
      'access-control-allow-origin': ours,
      'access-control-expose-headers': exposed,
      vary: 'Origin',
    });
  });

  test('may read why it was refused without a token, and that the limit of its address is exceeded', async () => {
    expect(corsOf(await request(server, 'GET /api/v1/board', { headers: { origin: ours } }))).toHaveProperty(
      'access-control-allow-origin',
      ours,
    );
    const narrow = await startServerForTest({
      clock: testClock(),
      environment: { CORS_ORIGINS: ours, RATE_LIMIT_IP: '2' },
    });
    const statuses = [];
    for (let n = 0; n < 3; n += 1) statuses.push((await preflight(narrow, '/api/v1/ideas', ours)).status);
    expect(statuses).toEqual([204, 204, 429]);
    const refused = await request(narrow, 'GET /api/v1/board', { headers: { origin: ours } });
    expect(refused.key).toBe('rate_limited');
    expect(refused.headers.get('access-control-allow-origin')).toBe(ours);
  });

  test('is never allowed to send cookies, nor to read pages that are for people', async () => {
    expect(corsOf(await preflight(server, '/api/v1/ideas', ours))).not.toHaveProperty(
      'access-control-allow-credentials',
    );
    for (const path of ['/docs', '/unsubscribe', '/health']) {
      expect(corsOf(await request(server, `GET ${path}`, { headers: { origin: ours } }))).toEqual({});
      expect((await preflight(server, path, ours, 'GET')).status).toBe(405);
    }
  });
});

describe('a page of another origin', () => {
  test.each(others)('may neither ask nor read: %s', async origin => {
    const asked = await preflight(server, '/api/v1/ideas', origin);
    expect({ status: asked.status, key: asked.key, ...corsOf(asked) }).toEqual({
      status: 405,
      key: 'method_not_allowed',
      vary: 'Origin',
    });
    const answer = await request(server, 'GET /api/v1/ideas', { token, headers: { origin } });
    expect({ status: answer.status, ...corsOf(answer) }).toEqual({ status: 200, vary: 'Origin' });
  });
});

test('an answer to a program, which has no origin, still tells caches that it depends on it', async () => {
  expect(corsOf(await request(server, 'GET /api/v1/ideas', { token }))).toEqual({ vary: 'Origin' });
});

test('OPTIONS without the headers of a preflight is a method that no path has', async () => {
  for (const headers of [{}, { origin: ours }, { 'access-control-request-method': 'POST' }] as Record<
    string,
    string
  >[]) {
    expect((await request(server, 'OPTIONS /api/v1/ideas', { headers })).key).toBe('method_not_allowed');
  }
  expect((await preflight(server, '/api/v1/nothing', ours)).key).toBe('not_found');
});

describe('the setting CORS_ORIGINS', () => {
  test('lets every origin in with *, in answers that are the same for all', async () => {
    const open = await startServerForTest({ environment: { CORS_ORIGINS: '*' } });
    const one = await issueToken(open, await createWorld(open), 'read');
    for (const origin of [ours, ...others]) {
      expect((await preflight(open, '/api/v1/ideas', origin)).status).toBe(204);
      const answer = await request(open, 'GET /api/v1/ideas', { token: one.token, headers: { origin } });
      expect(corsOf(answer)).toEqual({ 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed });
    }
  });

  test('is off by default', async () => {
    const closed = await startServerForTest();
    const asked = await preflight(closed, '/api/v1/ideas', ours);
    expect({ key: asked.key, ...corsOf(asked) }).toEqual({ key: 'method_not_allowed' });
  });

  test.each([
    'app.example.com',
    'https://app.example.com/',
    'https://app.example.com/page',
    'https://*.example.com',
    'HTTPS://app.example.com',
    'file://x',
  ])('does not take %s, which no browser would send', wrong => {
    expect(() => loadConfig({ CORS_ORIGINS: `${ours},${wrong}` })).toThrow(/CORS_ORIGINS must be origins such as/);
  });
});
