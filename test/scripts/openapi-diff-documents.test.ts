import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { compareDocuments, parseDocument } from '../../scripts/openapi-diff/main.ts';
import {
  documentWith,
  type Json,
  type JsonObject,
  object,
  operationWith,
  type Pair,
  received,
  testVerdicts,
} from './openapi-pair.ts';

const string = { type: 'string' };
const answer = (schema: Json) => ({
  responses: { 200: { description: 'Done.', content: { 'application/json': { schema } } } },
});

function changesBetween(base: JsonObject, head: JsonObject): string[] {
  const documents = [parseDocument('base', stringify(base)), parseDocument('head', JSON.stringify(head))] as const;
  return compareDocuments(...documents).changes.map(({ level, rule }) => `${level} ${rule}`);
}

test('openapi-diff finds no change between a YAML document and the same document in JSON', () => {
  const document = operationWith(answer(object({ 'a!': string, yes: { enum: ['no', '1.0', null] } })));
  expect(changesBetween(document, document)).toEqual([]);
});

test('openapi-diff finds no change between an OpenAPI 3.0 document and its translation to 3.1', () => {
  const schemas = { Name: { type: 'string' } };
  const old = object({
    a: { type: 'string', nullable: true, default: null },
    b: { type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    c: { allOf: [{ $ref: '#/components/schemas/Name' }], nullable: true },
    d: { $ref: '#/components/schemas/Name', maxLength: 3 },
    nullable: { type: 'boolean', nullable: false },
  });
  const now = object({
    a: { type: ['string', 'null'], default: null },
    b: { type: 'integer', exclusiveMinimum: 0, maximum: 9 },
    c: { anyOf: [{ $ref: '#/components/schemas/Name' }, { type: 'null' }] },
    d: { $ref: '#/components/schemas/Name' },
    nullable: { type: 'boolean' },
  });
  const [base, head] = [old, now].map(schema => operationWith(answer(schema), { components: { schemas } }));
  expect(changesBetween({ ...base, openapi: '3.0.3' }, head ?? {})).toEqual([]);
  expect(changesBetween(head ?? {}, { ...base, openapi: '3.0.3' })).toEqual([]);
});

const items = (base: JsonObject, head: JsonObject): Pair => ({
  base: { ...documentWith({ paths: { '/a': base } }), openapi: '3.2.0' },
  head: { ...documentWith({ paths: { '/a': head } }), openapi: '3.2.0' },
});
const stream = (type: string) => ({
  responses: { 200: { description: 'Done.', content: { 'text/event-stream': { itemSchema: { type } } } } },
});
const anchored = (type: string) => ({ Name: { $anchor: 'name', type } });
const toAnchor = object({ a: { $ref: '#name' } });
const serverAt = ([url, path]: [url: string, path: string]) =>
  documentWith({ servers: [{ url: `https://a.example${url}` }], paths: { [path]: { get: answer(string) } } });
const servers = (base: [url: string, path: string], head: [url: string, path: string]): Pair => ({
  base: serverAt(base),
  head: serverAt(head),
});
testVerdicts({
  'breaking response-type-widened': {
    'another type of the streamed items of the method QUERY (OpenAPI 3.2)': items(
      { query: stream('string') },
      { query: stream('integer') },
    ),
    'another type of a schema that a reference names by its anchor': received(toAnchor, toAnchor, {
      base: anchored('string'),
      head: anchored('integer'),
    }),
  },
  'breaking operation-removed': {
    'a removed method with another name (OpenAPI 3.2)': items({ additionalOperations: { COPY: stream('string') } }, {}),
  },
  'no change': {
    'a part of the paths that moves into the URLs of the servers': servers(['', '/v1/a'], ['/v1/', '/a']),
    'a part of the URLs of the servers that moves into the paths': servers(['/v1/', '/a'], ['', '/v1/a']),
  },
  'breaking server-removed, additive server-added': {
    'a new version in the URLs of the servers': servers(['/v1', '/a'], ['/v2', '/a']),
  },
});
