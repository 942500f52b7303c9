import { readFileSync } from 'node:fs';
import type { RouteOptions } from 'fastify';
import { beforeAll, describe, expect, test } from 'vitest';
import type { z } from 'zod';
import { contract } from '../../contract/index.ts';
import type { Route, RouteMetadata } from '../../contract/routes.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { createTargets } from '../helpers/operations.ts';
import { collectRoutes } from '../helpers/registered-routes.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';

interface Operation {
  method: string;
  path: string;
  operationId: string;
  parameters: { name: string; in: 'path' | 'query' | 'header'; required?: boolean }[];
  statuses: number[];
  grant: string | undefined;
  capability: string | undefined;
  bucket: string | undefined;
  grantByQuery: unknown;
  isOpen: boolean;
}

const document = JSON.parse(readFileSync(new URL('../../contract/openapi.json', import.meta.url), 'utf8'));

const documented: Operation[] = Object.entries(document.paths as Record<string, object>).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    method: method.toUpperCase(),
    path: path.replace(/\{(\w+)\}/g, ':$1'),
    operationId: operation.operationId,
    parameters: operation.parameters ?? [],
    statuses: Object.keys(operation.responses).map(Number),
    grant: operation['x-grant'],
    capability: operation['x-capability'],
    bucket: operation['x-bucket'],
    grantByQuery: operation['x-grant-by-query'],
    isOpen: operation.security?.length === 0,
  })),
);

let server: TestServer;
let registered: RouteOptions[];

beforeAll(async () => {
  ({ started: server, routes: registered } = await collectRoutes(() => startServer()));
  return () => server.close();
});

/** Whether a URL belongs to an HTML page or an OAuth endpoint. The contract describes neither. */
const isPage = (url: string) =>
  ['/', '/unsubscribe', '/robots.txt', '/sitemap.xml', '/sitemap-:part.xml'].includes(url) ||
  /^\/(b|admin|operator|sign-in|pictures|assets|oauth|\.well-known)(\/|$)/.test(url);

/** Returns the API routes of the server, without documentation, pages and automatic HEAD routes. */
function apiRoutes(): { method: string; path: string; route: Route | undefined }[] {
  return registered
    .filter(({ url }) => !url.startsWith('/docs') && url !== '/api/v1/openapi.json' && !isPage(url))
    .flatMap(({ method, url, config }) =>
      [method].flat().map(one => ({ method: one, path: url, route: config?.tsRestRoute })),
    )
    .filter(({ method }) => method !== 'HEAD');
}

function routeOf({ method, path }: Operation): Route {
  const route = apiRoutes().find(one => one.method === method && one.path === path)?.route;
  if (!route) throw new Error(`${method} ${path} is not registered`);
  return route;
}

test('the API routes that the server registers are exactly the routes in the OpenAPI document', () => {
  const lines = (routes: { method: string; path: string }[]) => routes.map(one => `${one.method} ${one.path}`).sort();
  expect(lines(apiRoutes())).toEqual(lines(documented));
  expect(documented.map(({ operationId }) => operationId).sort()).toEqual(Object.keys(contract).sort());
});

test('every API route that the server registers belongs to an operation in the contract that has metadata', () => {
  expect(apiRoutes().filter(({ route }) => route?.metadata === undefined)).toEqual([]);
});

describe.each(documented)('the operation $method $path', operation => {
  const { parameters } = operation;
  const documentedIn = (place: string) => parameters.filter(one => one.in === place).map(({ name }) => name);

  test('the OpenAPI document and the registered route have the same parameters in the path, the query and the headers', () => {
    const route = routeOf(operation);
    expect(documentedIn('path')).toEqual([...operation.path.matchAll(/:(\w+)/g)].map(([, name]) => name));
    expect(documentedIn('query').sort()).toEqual(Object.keys((route.query as z.ZodObject)?.shape ?? {}).sort());
    expect(documentedIn('header').sort()).toEqual(Object.keys(route.headers ?? {}).sort());
    for (const one of parameters) expect(one.required ?? false).toBe(one.in === 'path');
  });

  test('the OpenAPI document and the registered route require the same token grant and capability, and use the same rate limit bucket', () => {
    const metadata = routeOf(operation).metadata as RouteMetadata;
    const { grant, capability, bucket, grantByQuery } = operation;
    expect(operation.isOpen).toBe(metadata.auth === 'none');
    const inContract = metadata.auth === 'board' ? metadata : undefined;
    expect({ grant, capability, bucket, grantByQuery }).toEqual({
      grant: inContract?.grant,
      capability: inContract?.capability,
      bucket: inContract?.bucket,
      grantByQuery: inContract?.grantByQuery,
    });
  });

  test('the OpenAPI document and the registered route declare the same HTTP statuses for the responses of an operation', () => {
    expect(operation.statuses).toEqual(Object.keys(routeOf(operation).responses).map(Number));
  });
});

describe('documented routes over HTTP', () => {
  let token: string;
  let ideaId: number;
  let webhookId: number;

  beforeAll(async () => {
    const world = await createWorld(server);
    token = (await issueToken(server, world, 'moderate')).token;
    ({ ideaId, webhookId } = await createTargets(server, world));
  });

  const pathOf = (operation: Operation) =>
    operation.path
      .replace(':id', String(ideaId))
      .replace(/:(tag|comment|note)Id/, '1')
      .replace(':webhookId', String(webhookId))
      .replace(':deliveryId', '1');

  test.each(documented)(
    'the operation $method $path requires a token if and only if the OpenAPI document says so',
    async operation => {
      const answer = await request(server, `${operation.method} ${pathOf(operation)}`);
      // The readiness probe answers 503 if a check fails.
      if (operation.isOpen) expect([200, 503]).toContain(answer.status);
      else expect(answer).toMatchObject({ status: 401, key: 'unauthorized' });
    },
  );

  test.each(documented.filter(({ isOpen }) => !isOpen))(
    'the operation $method $path recognizes all query parameters that the OpenAPI document lists, and rejects any other query parameter',
    async operation => {
      const names = operation.parameters.filter(one => one.in === 'query').map(({ name }) => name);
      // Each query parameter gets an invalid value, so that the server rejects the request and changes nothing.
      const query = new URLSearchParams({ not_a_parameter: '?' });
      for (const name of names) if (name !== 'board') query.set(name, '?');
      const body = ['POST', 'PATCH'].includes(operation.method) ? { json: {} } : {};
      const answer = await request(server, `${operation.method} ${pathOf(operation)}?${query}`, { token, ...body });
      expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
      const unknown = answer.body.error.issues.filter((issue: { code: string; path: string[] }) => {
        return issue.code === 'unrecognized_keys' && issue.path[0] === 'query';
      });
      expect(unknown).toHaveLength(1);
      expect(unknown[0].message).toMatch(/^Unknown: "not_a_parameter". (The fields are \w|There are no fields)/);
    },
  );
});
