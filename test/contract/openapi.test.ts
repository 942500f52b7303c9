import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { type ErrorKey, errors, keysIn, meaningOf } from '../../contract/errors.ts';
import { eventTypes } from '../../contract/events.ts';
import { contract } from '../../contract/index.ts';
import { buildOpenApiDocument } from '../../contract/openapi.ts';
import type { Route, RouteMetadata } from '../../contract/routes.ts';

const run = promisify(execFile);
const repository = fileURLToPath(new URL('../../', import.meta.url));
const committed = readFileSync(`${repository}contract/openapi.json`, 'utf8');

// biome-ignore lint/suspicious/noExplicitAny: the document is read as untyped JSON.
const document: any = JSON.parse(committed);

interface DocumentedOperation {
  operationId: string;
  route: Route;
  metadata: RouteMetadata;
  // biome-ignore lint/suspicious/noExplicitAny: the document is read as untyped JSON.
  operation: any;
}

const operations: DocumentedOperation[] = Object.entries(document.paths as object).flatMap(([, methods]) =>
  Object.values(methods as object).map(operation => {
    const route = contract[operation.operationId as keyof typeof contract] as Route;
    return {
      operationId: operation.operationId,
      route,
      metadata: route?.metadata as RouteMetadata,
      operation,
    };
  }),
);

describe('the committed OpenAPI document', () => {
  test('the committed OpenAPI document equals the generated document byte for byte', () => {
    expect(committed).toBe(`${JSON.stringify(buildOpenApiDocument(), null, 2)}\n`);
  });

  test('generating the OpenAPI document twice gives the same result', async () => {
    expect(JSON.stringify(buildOpenApiDocument())).toBe(JSON.stringify(buildOpenApiDocument()));
    await run(process.execPath, ['scripts/openapi.ts', '--check'], { cwd: repository });
  });

  test('the OpenAPI document is smaller than 32 KB for each operation, so that the web page at /docs can show it', () => {
    expect(committed.length).toBeLessThan(operations.length * 32_000);
  });

  test('the OpenAPI document contains every operation of the contract once', () => {
    const documented = operations.map(({ operationId }) => operationId).sort();
    expect(documented).toEqual(Object.keys(contract).sort());
  });

  test('every reference in the OpenAPI document resolves, and every schema, header and example among its components is used', () => {
    const used = new Set(
      [...committed.matchAll(/"\$ref": "#\/components\/(\w+)\/([\w-]+)"/g)].map(([, a, b]) => `${a}/${b}`),
    );
    const references = committed.match(/"\$ref"/g) ?? [];
    expect(references.length).toBeGreaterThan(100);
    // Every reference points to a component, so `used` contains the targets of all references.
    expect([...committed.matchAll(/"\$ref": "#\/components\/\w+\/[\w-]+"/g)]).toHaveLength(references.length);
    const defined = ['schemas', 'headers', 'examples'].flatMap(kind =>
      Object.keys(document.components[kind]).map(name => `${kind}/${name}`),
    );
    expect([...used].sort()).toEqual(defined.sort());
  });

  test('the OpenAPI document declares null with the type "null" instead of nullable, and limits no integer to 9007199254740991', () => {
    expect(committed).not.toContain('"nullable"');
    expect(committed).not.toMatch(/9007199254740991/);
    expect(document.components.schemas.Idea.properties.merged_into_id.anyOf).toContainEqual({ type: 'null' });
  });

  test('the OpenAPI document has a license, a contact and a server URL with described variables', () => {
    const { info, servers } = document;
    expect(info.license).toEqual({ name: 'MIT', identifier: 'MIT' });
    expect(info.contact.name).toBe('Idea-Board');
    for (const { url, variables } of servers) {
      const names = [...url.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(names).toEqual(Object.keys(variables));
      for (const name of names) expect(variables[name]).toMatchObject({ default: /./, description: /./ });
    }
  });

  test('the OpenAPI document lists every error key with its HTTP status and meaning', () => {
    expect(document['x-error-keys']).toEqual(errors);
  });

  test('each webhook in the OpenAPI document has an id, a summary, a description and a tag, and needs no token', () => {
    expect(Object.keys(document.webhooks)).toEqual([...eventTypes, 'webhook.test']);
    for (const { post } of Object.values(document.webhooks as Record<string, { post: object }>)) {
      expect(post).toMatchObject({
        operationId: expect.stringMatching(/^receive\w+Event$/),
        summary: expect.stringMatching(/\S/),
        description: expect.stringMatching(/\S/),
        tags: ['Webhooks'],
        security: [],
      });
    }
  });
});

describe.each(operations)('the operation $operationId', ({ route, metadata, operation }) => {
  test('each operation in the OpenAPI document has a summary, a description and a declared tag', () => {
    expect(operation.summary).toMatch(/\S/);
    expect(operation.description).toMatch(/\S/);
    expect(operation.tags).toEqual([metadata.tag]);
    expect(document.tags.map((tag: { name: string }) => tag.name)).toContain(metadata.tag);
  });

  test('each operation in the OpenAPI document declares its security, and each board operation declares its required token grant and rate limit bucket', () => {
    if (metadata.auth === 'none') {
      expect(operation.security).toEqual([]);
    } else {
      // An operation without a security requirement inherits the security requirement of the document.
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

  test('each operation in the OpenAPI document lists exactly the error keys of the contract for each HTTP status', () => {
    const documented = Object.entries(operation.responses as object)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, response]) => [status, keysInDocument(response)]);
    const declared = Object.entries(route.responses)
      .filter(([status]) => Number(status) >= 400)
      .map(([status, schema]) => [status, keysIn(schema)]);
    expect(documented).toEqual(declared);
    for (const [status, keys] of documented) {
      for (const key of keys ?? []) expect(errors[key as keyof typeof errors].status).toBe(Number(status));
    }
    if (metadata.auth !== 'none') expect(documented.length).toBeGreaterThan(5);
  });

  test('the descriptions of an error response and of its field error.key explain every error key', () => {
    // biome-ignore lint/suspicious/noExplicitAny: the document is read as untyped JSON.
    for (const response of Object.values<any>(operation.responses)) {
      const schema = response.content && schemaOf(response);
      for (const key of schema?.properties.error?.properties.key?.enum ?? []) {
        const explanation = `\`${key}\`: ${meaningOf(key as ErrorKey, 'meanings' in metadata ? metadata.meanings : {})}`;
        expect(response.description.split(/^- |\n- /)).toContain(explanation);
        expect(schema.properties.error.properties.key.description.split(/^- |\n- /)).toContain(explanation);
      }
    }
  });
});

/** Returns the error keys of a response. A body without an error key, such as the 503 of /ready, has none. */
// biome-ignore lint/suspicious/noExplicitAny: a response of the document.
function keysInDocument(response: any): string[] {
  return schemaOf(response).properties.error?.properties.key.enum ?? [];
}

// biome-ignore lint/suspicious/noExplicitAny: the document is read as untyped JSON.
function schemaOf(response: any) {
  const { $ref } = response.content['application/json'].schema;
  return document.components.schemas[$ref.split('/').at(-1)];
}
