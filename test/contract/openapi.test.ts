import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { AppRoute } from '@ts-rest/core';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { errors } from '../../contract/errors.ts';
import { contract } from '../../contract/index.ts';
import { buildOpenApiDocument } from '../../contract/openapi.ts';
import type { RouteMetadata } from '../../contract/routes.ts';
import { Token } from '../../contract/token.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../', import.meta.url));
const committed = readFileSync(`${repository}/contract/openapi.json`, 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: the document is looked into as a reader without its types would.
const document: any = JSON.parse(committed);

interface DocumentedOperation {
  operationId: string;
  route: AppRoute;
  metadata: RouteMetadata;
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  operation: any;
}

const operations: DocumentedOperation[] = Object.entries(document.paths as object).flatMap(([, methods]) =>
  Object.values(methods as object).map(operation => {
    const route = contract[operation.operationId as keyof typeof contract] as AppRoute;
    return {
      operationId: operation.operationId,
      route,
      metadata: route?.metadata as RouteMetadata,
      operation,
    };
  }),
);

describe('the committed document', () => {
  test('is what the contract produces, byte for byte', () => {
    expect(committed).toBe(`${JSON.stringify(buildOpenApiDocument(), null, 2)}\n`);
  });

  test('is the same text when it is built again, in this process and in another', async () => {
    expect(JSON.stringify(buildOpenApiDocument())).toBe(JSON.stringify(buildOpenApiDocument()));
    await run(process.execPath, ['scripts/openapi.ts', '--check'], { cwd: repository });
  });

  test('is valid OpenAPI 3.1 to another maker’s linter, without an error', async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const cli = createRequire(import.meta.url).resolve('@redocly/cli/bin/cli.js');
    const { stdout } = await run(process.execPath, [cli, 'lint', 'contract/openapi.json', '--format=json'], {
      cwd: repository,
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    });
    expect(JSON.parse(stdout).totals).toMatchObject({ errors: 0 });
  });

  test('has every operation of the contract, once', () => {
    const documented = operations.map(({ operationId }) => operationId).sort();
    expect(documented).toEqual(Object.keys(contract).sort());
  });

  test('resolves every reference within itself, and has no component that nothing uses', () => {
    const used = new Set(
      [...committed.matchAll(/"\$ref": "#\/components\/(\w+)\/([\w-]+)"/g)].map(([, a, b]) => `${a}/${b}`),
    );
    const references = committed.match(/"\$ref"/g) ?? [];
    expect(references.length).toBeGreaterThan(100);
    // All of them are references to components, and so counted above.
    expect([...committed.matchAll(/"\$ref": "#\/components\/\w+\/[\w-]+"/g)]).toHaveLength(references.length);
    const { schemas, headers } = document.components;
    const defined = [
      ...Object.keys(schemas).map(name => `schemas/${name}`),
      ...Object.keys(headers).map(name => `headers/${name}`),
    ];
    expect([...used].sort()).toEqual(defined.sort());
  });

  test('says null as JSON Schema 2020-12 does, and has none of the bounds that only a double has', () => {
    expect(committed).not.toContain('"nullable"');
    expect(committed).not.toMatch(/9007199254740991/);
    expect(document.components.schemas.Idea.properties.merged_into_id.anyOf).toContainEqual({ type: 'null' });
  });

  test('gives examples that are what they are examples of', () => {
    const examples = Object.values(contract).flatMap(route => {
      const { responses, body } = route as { responses: Record<string, unknown>; body?: unknown };
      return [...Object.values(responses), body]
        .filter(schema => schema instanceof z.ZodType)
        .flatMap(schema => ((schema.meta()?.examples ?? []) as unknown[]).map(example => ({ schema, example })));
    });
    expect(examples.length).toBeGreaterThan(10);
    for (const { schema, example } of examples) expect(schema.parse(example)).toEqual(example);
    expect(document.components.schemas.Token.examples).toEqual(Token.meta()?.examples);
  });
});

describe.each(operations)('$operationId', ({ route, metadata, operation }) => {
  test('is described: id, summary, description and a tag that the document has', () => {
    expect(operation.summary).toMatch(/\S/);
    expect(operation.description).toMatch(/\S/);
    expect(operation.tags).toEqual([metadata.tag]);
    expect(document.tags.map((tag: { name: string }) => tag.name)).toContain(metadata.tag);
  });

  test('says how it is secured, which grant it needs and which bucket it charges', () => {
    if (metadata.auth === 'none') {
      expect(operation.security).toEqual([]);
    } else {
      // The document's own requirement holds where the operation has none.
      expect(operation.security ?? document.security).toEqual([{ bearer: [] }]);
      expect(document.components.securitySchemes.bearer).toMatchObject({ type: 'http', scheme: 'bearer' });
    }
    if (metadata.auth === 'board') {
      expect(operation['x-grant']).toBe(metadata.grant);
      expect(operation['x-bucket']).toBe(metadata.bucket);
    } else {
      expect(operation).not.toHaveProperty('x-grant');
      expect(operation).not.toHaveProperty('x-bucket');
    }
  });

  test('lists for every error status exactly the keys that the contract has for it', () => {
    const documented = Object.entries(operation.responses as object)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, response]) => [status, keysInDocument(response)]);
    const declared = Object.entries(route.responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, schema]) => [status, keysInSchema(schema)]);
    expect(documented).toEqual(declared);
    for (const [status, keys] of documented) {
      for (const key of keys ?? []) expect(errors[key as keyof typeof errors].status).toBe(Number(status));
    }
    if (metadata.auth !== 'none') expect(documented.length).toBeGreaterThan(5);
  });
});

/** The enum of keys; undefined for a body of another shape, such as the readiness probe's 503. */
// biome-ignore lint/suspicious/noExplicitAny: a response of the document.
function keysInDocument(response: any): string[] | undefined {
  const { $ref } = response.content['application/json'].schema;
  const schema = document.components.schemas[$ref.split('/').at(-1)];
  return schema.properties.error?.properties.key.enum;
}

function keysInSchema(schema: unknown): string[] | undefined {
  const { error } = (schema as z.ZodObject).shape as { error?: z.ZodObject };
  return (error?.shape.key as z.ZodEnum | undefined)?.options as string[] | undefined;
}
