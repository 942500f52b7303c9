import { METHODS } from 'node:http';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { collectRoutes } from '../helpers/registered-routes.ts';
import { startServer, type TestServer } from '../helpers/server.ts';

let server: TestServer;
let allowed: Map<string, string[]>;

beforeAll(async () => {
  const { started, routes } = await collectRoutes(() => startServer({ clock: testClock() }));
  server = started;
  allowed = new Map();
  for (const { url, method, config } of routes) {
    if (config?.allow !== undefined) continue;
    // A plugin serves the documentation there.
    if (url === '/') continue;
    allowed.set(url, [...(allowed.get(url) ?? []), ...[method].flat()]);
  }
});
afterAll(() => server.close());

/** CONNECT has no path. */
const methods = METHODS.filter(method => method !== 'CONNECT');

test('every unsupported method that Node parses gets 405 and Allow on every path', async () => {
  expect(methods).toEqual(expect.arrayContaining(['PROPFIND', 'MKCOL', 'LOCK', 'TRACE', 'REPORT', 'QUERY', 'SOURCE']));
  expect(allowed.size).toBeGreaterThan(50);
  for (const [url, own] of allowed) {
    const path = url.replace(/:\w+/g, '1').replace('*', 'x');
    // Each method is sent to some path. Each path gets one method that Fastify routes and one that it does not.
    const tried = url.startsWith('/api/v1/ideas') ? methods : ['PROPFIND', 'TRACE', 'LOCK'];
    for (const method of tried) {
      if (own.includes(method)) continue;
      const answer = await rawRequest(server, method, path);
      expect([method, path, answer.status]).toEqual([method, path, 405]);
      const allow = answer.headers.get('allow')?.split(', ') ?? [];
      expect([path, allow.sort()]).toEqual([path, [...new Set(own)].sort()]);
      expect(answer.headers.get('x-request-id')).not.toBeNull();
    }
  }
});

test('every method gets 404 on an unknown path', async () => {
  for (const path of ['/no/such/path', '/api/v1/nothing', '/api/v1/ideas/%zz', '/admin/nothing', '/oauth/nothing']) {
    for (const method of methods) {
      const answer = await rawRequest(server, method, path);
      expect([method, path, answer.status]).toEqual([method, path, 404]);
      expect(answer.headers.get('allow')).toBeNull();
    }
  }
});

test('a method that Fastify does not route counts against the limit of its address', async () => {
  await server.sql('delete from rate_limits');
  await rawRequest(server, 'PROPFIND', '/api/v1/board');
  await rawRequest(server, 'MKCOL', '/no/such/path');
  expect(await server.sql('select count from rate_limits')).toEqual([{ count: 2 }]);
});
