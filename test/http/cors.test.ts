import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import { testClock } from '../helpers/clock.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest, type TestServer } from '../helpers/server.ts';

const ours = 'https://app.example.com';
const others = ['https://evil.example', 'null', 'http://app.example.com', 'https://app.example.com.evil.example'];

const server = await startServerForFile({ environment: { CORS_ORIGINS: `${ours}, http://localhost:5173` } });
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'write');

function corsOf({ headers }: Answer) {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'));
}

/** Sends the CORS preflight request that a browser sends before a JSON request to another origin. */
function preflight(to: Pick<TestServer, 'baseUrl'>, path: string, origin: string, method = 'POST'): Promise<Answer> {
  const headers = {
    origin,
    'access-control-request-method': method,
    'access-control-request-headers': 'authorization,content-type,idempotency-key',
  };
  return request(to, `OPTIONS ${path}`, { headers });
}

const exposed =
  'Deprecation, ETag, Idempotency-Replayed, Link, RateLimit, RateLimit-Policy, Retry-After, Sunset, WWW-Authenticate, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, X-Request-Id';

describe('a web page of an allowed origin', () => {
  test('the answer to a preflight request from an allowed origin lists the allowed methods and headers', async () => {
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

  test.each<[name: string, line: string, status: number, vary?: string]>([
    ['a successful response', 'GET /api/v1/ideas', 200],
    ['an error response', 'GET /api/v1/ideas/999999999', 404],
    ['an unknown path', 'GET /api/v1/nothing', 404],
    ['a path that cannot be decoded', 'GET /api/v1/ideas/%ff', 404],
    ['an unsupported method', 'PUT /api/v1/ideas', 405],
    ['the OpenAPI document', 'GET /api/v1/openapi.json', 200, 'Origin, Accept-Encoding'],
  ])(
    'a web page of an allowed origin can read the response and the headers that the API exposes: %s',
    async (_, line, status, vary = 'Origin') => {
      const answer = await request(server, line, { token, headers: { origin: ours } });
      expect(answer.status).toBe(status);
      expect(corsOf(answer)).toEqual({
        'access-control-allow-origin': ours,
        'access-control-expose-headers': exposed,
        vary,
      });
    },
  );

  test('a web page of an allowed origin can read the errors for a missing token and for an exceeded rate limit of an IP address', async () => {
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

  test('a web page of an allowed origin can read only the API and not pages such as /docs, and cannot send cookies', async () => {
    expect(corsOf(await preflight(server, '/api/v1/ideas', ours))).not.toHaveProperty(
      'access-control-allow-credentials',
    );
    for (const path of ['/docs', '/unsubscribe', '/health']) {
      expect(corsOf(await request(server, `GET ${path}`, { headers: { origin: ours } }))).toEqual({});
      expect((await preflight(server, path, ours, 'GET')).status).toBe(405);
    }
  });
});

describe('a web page of an origin that is not allowed', () => {
  test.each(others)('a request from the origin %s, which is not allowed, gets no CORS headers', async origin => {
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

test('the answer to a request without an Origin header also has "Vary: Origin", because caches may store the answer', async () => {
  expect(corsOf(await request(server, 'GET /api/v1/ideas', { token }))).toEqual({ vary: 'Origin' });
});

test('an OPTIONS request gets 405 if it has no headers of a CORS preflight request', async () => {
  for (const headers of [{}, { origin: ours }, { 'access-control-request-method': 'POST' }] as Record<
    string,
    string
  >[]) {
    expect((await request(server, 'OPTIONS /api/v1/ideas', { headers })).key).toBe('method_not_allowed');
  }
  expect((await preflight(server, '/api/v1/nothing', ours)).key).toBe('not_found');
});

describe('the setting CORS_ORIGINS', () => {
  test('if CORS_ORIGINS is *, every origin is allowed and gets the same headers', async () => {
    const open = await startServerForTest({ environment: { CORS_ORIGINS: '*' } });
    const one = await issueToken(open, await createWorld(open), 'read');
    for (const origin of [ours, ...others]) {
      expect((await preflight(open, '/api/v1/ideas', origin)).status).toBe(204);
      const answer = await request(open, 'GET /api/v1/ideas', { token: one.token, headers: { origin } });
      expect(corsOf(answer)).toEqual({ 'access-control-allow-origin': '*', 'access-control-expose-headers': exposed });
    }
  });

  test('without the setting CORS_ORIGINS, no origin is allowed', async () => {
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
  ])('the setting CORS_ORIGINS cannot have the value %s, because no browser sends this value as an origin', wrong => {
    expect(() => loadConfig({ CORS_ORIGINS: `${ours},${wrong}` })).toThrow(/CORS_ORIGINS must be origins such as/);
  });
});
