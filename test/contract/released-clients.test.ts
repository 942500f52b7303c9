import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { contract } from '../../contract/index.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { createTargets, operations, requestOf } from '../helpers/operations.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';

interface Content {
  content?: { 'application/json': { schema: object } };
}

interface ReleasedOperation {
  requestBody?: Content;
  responses: Record<string, Content>;
}

/** The OpenAPI document of the last release. Its references point to `$defs`, where JSON Schema has shared schemas. */
const released = JSON.parse(
  readFileSync(new URL('../../contract/openapi.released.json', import.meta.url), 'utf8').replaceAll(
    '#/components/schemas/',
    '#/$defs/',
  ),
) as { paths: Record<string, Record<string, ReleasedOperation>>; components: { schemas: object } };

const known = operations.flatMap(operation => {
  const ofRelease = released.paths[inTemplate(operation.path)]?.[operation.method.toLowerCase()];
  return ofRelease ? { ...operation, ofRelease } : [];
});

const server = await startServerForFile();

test('every operation of the released OpenAPI document still exists in the current contract', () => {
  const remaining = new Set(Object.values(contract).map(({ method, path }) => `${method} ${inTemplate(path)}`));
  const ofRelease = Object.entries(released.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map(method => `${method.toUpperCase()} ${path}`),
  );
  expect(ofRelease.length).toBeGreaterThan(known.length);
  expect(ofRelease.filter(one => !remaining.has(one))).toEqual([]);
});

test.each(known)(
  'a client that was made for the released OpenAPI document can still call the operation $method $path and read the response',
  async operation => {
    const { requestBody, responses } = operation.ofRelease;
    const world = await createWorld(server);
    const targets = await createTargets(server, world);
    const { token } = await issueToken(server, world, 'moderate');
    const { line, json } = requestOf(operation, targets);
    expect(json === undefined || schemaOf(requestBody).parse(json)).toBeTruthy();

    const answer = await request(server, line, { token, ...(json ? { json } : {}) });

    expect([200, 201]).toContain(answer.status);
    expect(schemaOf(responses[answer.status]).safeParse(answer.body).error).toBeUndefined();
  },
);

/** Returns the schema of the JSON value in a request or a response. */
function schemaOf(message: Content | undefined): z.ZodType {
  const { schema } = message?.content?.['application/json'] ?? {};
  expect(schema).toBeDefined();
  return z.fromJSONSchema({ ...schema, $defs: released.components.schemas } as never);
}

/** Returns a path in the notation of OpenAPI: /ideas/{id} instead of /ideas/:id. */
function inTemplate(path: string): string {
  return path.replace(/:(\w+)/g, '{$1}');
}
