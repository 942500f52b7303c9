import { METHODS } from 'node:http';
import { afterAll, expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { collectRoutes } from '../helpers/registered-routes.ts';
import { startServer } from '../helpers/server.ts';

const { started, routes } = await collectRoutes(() => startServer({ clock: testClock() }));
const server = started;
const allowed = new Map();
for (const { url, method } of routes) {
  // Skips `/`. The documentation plugin registers this path below the prefix /docs, so the real path is not `/`.
  if (url === '/') continue;
  // The operator's panel answers 404, so that nobody learns its paths. The panel's own tests check these answers.
  if (/^\/operator(\/|$)/.test(url)) continue;
  allowed.set(url, [...(allowed.get(url) ?? []), ...[method].flat()]);
}
afterAll(() => server.close());

/** All HTTP methods that Node parses, without CONNECT, because a CONNECT request has no path. */
const methods = METHODS.filter(method => method !== 'CONNECT');

test('a request to an existing path with an unsupported HTTP method gets 405 and an Allow header with the supported methods', async () => {
  expect(methods).toEqual(expect.arrayContaining(['PROPFIND', 'MKCOL', 'LOCK', 'TRACE', 'REPORT', 'QUERY', 'SOURCE']));
  expect(allowed.size).toBeGreaterThan(50);
  for (const [url, own] of allowed) {
    const path = url.replace(/:\w+/g, '1').replace('*', 'x');
    // For two paths, the test sends every method. For other paths, it sends only three methods, so that it stays fast.
    const tried = ['/api/v1/ideas', '/api/v1/ideas/:id'].includes(url) ? methods : ['PROPFIND', 'TRACE', 'LOCK'];
    for (const method of tried) {
      if (own.includes(method)) continue;
      // For PATCH and DELETE, the router reads "similar" in this path as the id of an idea. So the endpoints for a
      // single idea handle these requests.
      if (url === '/api/v1/ideas/similar' && ['PATCH', 'DELETE'].includes(method)) continue;
      const answer = await rawRequest(server, method, path);
      expect([method, path, answer.status]).toEqual([method, path, 405]);
      const allow = answer.headers.get('allow')?.split(', ') ?? [];
      expect([path, allow.sort()]).toEqual([path, [...new Set(own)].sort()]);
      expect(answer.headers.get('x-request-id')).not.toBeNull();
    }
  }
});

test('a request to an unknown path gets 404 with any HTTP method except CONNECT', async () => {
  for (const path of ['/no/such/path', '/api/v1/nothing', '/api/v1/ideas/%zz', '/admin/nothing', '/oauth/nothing']) {
    for (const method of methods) {
      const answer = await rawRequest(server, method, path);
      expect([method, path, answer.status]).toEqual([method, path, 404]);
      expect(answer.headers.get('allow')).toBeNull();
    }
  }
});

test("a request with an HTTP method that Fastify cannot route counts against the rate limit of the client's IP address", async () => {
  await server.sql('delete from rate_limits');
  await rawRequest(server, 'PROPFIND', '/api/v1/board');
  await rawRequest(server, 'MKCOL', '/no/such/path');
  expect(await server.sql('select count from rate_limits')).toEqual([{ count: 2 }]);
});
