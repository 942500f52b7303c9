import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { compareDocuments, parseDocument } from '../../scripts/openapi-diff/main.ts';
import {
  documentWith,
  type Json,
  type JsonObject,
  object,
  operationWith,
  received,
  sent,
  verdictOf,
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

test('openapi-diff compares the QUERY method and the streamed items of OpenAPI 3.2', () => {
  const stream = (itemSchema: Json) => ({
    responses: { 200: { description: 'Done.', content: { 'text/event-stream': { itemSchema } } } },
  });
  const document = (item: JsonObject) => ({ ...documentWith({ paths: { '/a': item } }), openapi: '3.2.0' });
  expect(changesBetween(document({ query: stream(string) }), document({ query: stream({ type: 'integer' }) }))).toEqual(
    ['breaking response-type-widened'],
  );
  const custom = document({ additionalOperations: { COPY: stream(string) } });
  expect(changesBetween(custom, document({}))).toEqual(['breaking operation-removed']);
});

test('openapi-diff follows a reference to an anchor', () => {
  const schemas = (type: string) => ({ Name: { $anchor: 'name', type } });
  const pair = received(object({ a: { $ref: '#name' } }), object({ a: { $ref: '#name' } }), {
    base: schemas('string'),
    head: schemas('integer'),
  });
  expect(verdictOf(pair)).toEqual(['breaking response-type-widened']);
});

test('openapi-diff finds no change if a part of the paths moves into the URLs of the servers', () => {
  const get = { get: answer(string) };
  const base = documentWith({ servers: [{ url: 'https://a.example' }], paths: { '/v1/a': get } });
  const head = documentWith({ servers: [{ url: 'https://a.example/v1/' }], paths: { '/a': get } });
  expect([verdictOf({ base, head }), verdictOf({ base: head, head: base })]).toEqual([[], []]);
});

test('openapi-diff reports a new version in the URLs of the servers as breaking', () => {
  const get = { get: answer(string) };
  const at = (url: string) => documentWith({ servers: [{ url }], paths: { '/a': get } });
  const verdicts = verdictOf({ base: at('https://a.example/v1'), head: at('https://a.example/v2') });
  expect(verdicts).toEqual(['breaking server-removed', 'additive server-added']);
});

test('openapi-diff compares 400 changed schemas that refer to each other in less than 15 seconds, and reports each change', () => {
  const schemas = (added: JsonObject) =>
    Object.fromEntries(
      Array.from({ length: 400 }, (_, n) => {
        const others = [1, 7, 31].map((step): [string, Json] => {
          const $ref = `#/components/schemas/S${(n * 3 + step) % 400}`;
          return [`s${step}`, step === 7 ? { anyOf: [string, { $ref }] } : { $ref }];
        });
        return [`S${n}`, object({ 'kind!': { const: `S${n}` }, ...Object.fromEntries(others), ...added })];
      }),
    );
  const ref = { $ref: '#/components/schemas/S0' };
  const started = performance.now();
  expect(verdictOf(sent(ref, ref, { base: schemas({}), head: schemas({ 'b!': string }) }))).toEqual(
    Array.from({ length: 400 }, () => 'breaking request-field-required'),
  );
  expect(verdictOf(sent(ref, ref, { base: schemas({}), head: schemas({ b: string }) }))).toEqual(
    Array.from({ length: 400 }, () => 'additive request-field-added'),
  );
  expect(performance.now() - started).toBeLessThan(15_000);
});
