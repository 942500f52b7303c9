import { expect, test } from 'vitest';
import {
  documentWith,
  type Json,
  type JsonObject,
  object,
  operations,
  operationWith,
  received,
  sent,
  testVerdicts,
  verdictOf,
} from './openapi-pair.ts';

const string = { type: 'string' };
const integer = { type: 'integer' };
const cat = object({ 'kind!': { const: 'cat' }, lives: integer });
const dog = object({ 'kind!': { const: 'dog' } });
const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });

const both = (schemas: JsonObject) => ({ base: schemas, head: schemas });

/** Two notations of the same schema, by their difference. */
const writings: Record<string, [base: Json, head: Json, schemas?: { base?: JsonObject; head?: JsonObject }]> = {
  'with its fields in another order': [
    { type: 'object', properties: { a: string, b: integer }, required: ['a', 'b'] },
    { required: ['b', 'a'], properties: { b: integer, a: string }, type: 'object' },
  ],
  'with its values in another order': [{ enum: ['x', 'y', null] }, { enum: [null, 'y', 'x'] }],
  'with its types in another order': [{ type: ['string', 'null'] }, { type: ['null', 'string'] }],
  'with its alternatives in another order': [{ oneOf: [cat, dog] }, { oneOf: [dog, cat] }],
  'with its alternatives by anyOf instead of oneOf': [{ oneOf: [cat, dog] }, { anyOf: [cat, dog] }],
  'as a component in place of an inline schema': [
    object({ a: cat }),
    object({ a: ref('Cat') }),
    { head: { Cat: cat } },
  ],
  'as a component of a component': [
    object({ a: ref('Cat') }),
    object({ a: ref('Kitten') }),
    { base: { Cat: cat }, head: { Cat: ref('Kitten'), Kitten: cat } },
  ],
  'with a description beside a reference': [
    object({ a: ref('Cat') }),
    object({ a: { ...ref('Cat'), description: 'Meows.' } }),
    both({ Cat: cat }),
  ],
  'with allOf around a reference': [
    object({ a: ref('Cat') }),
    object({ a: { allOf: [ref('Cat')], description: 'Meows.' } }),
    both({ Cat: cat }),
  ],
  'merged in place of allOf': [
    { allOf: [object({ 'a!': string }), object({ 'b!': string })] },
    object({ 'a!': string, 'b!': string }),
  ],
  'with merged bounds in place of allOf': [
    object({ a: { allOf: [{ type: 'string', maxLength: 9 }, { maxLength: 5 }] } }),
    object({ a: { type: 'string', maxLength: 5 } }),
  ],
  'with a constant as a list of one value': [{ const: 'x' }, { enum: ['x'] }],
  'with constants as a list of values': [{ oneOf: [{ const: 'x' }, { const: 'y', title: 'Y' }] }, { enum: ['x', 'y'] }],
  'with null as an alternative': [{ type: ['string', 'null'] }, { anyOf: [string, { type: 'null' }] }],
  'with null as an alternative of a component': [
    object({ a: { anyOf: [ref('Cat'), { type: 'null' }] } }),
    object({ a: { oneOf: [{ type: 'null' }, cat] } }),
    both({ Cat: cat }),
  ],
  'with its types as alternatives': [{ type: ['string', 'integer'] }, { anyOf: [string, integer] }],
  'with an alternative repeated': [{ oneOf: [cat, dog, cat] }, { oneOf: [cat, dog] }],
  'with one alternative only': [{ anyOf: [string] }, string],
  'with alternatives in alternatives': [{ anyOf: [cat, { anyOf: [dog, string] }] }, { anyOf: [cat, dog, string] }],
  'of any value, as true or as an empty schema': [object({ a: true }), object({ a: {} })],
  'with additional fields, explicit or implicit': [
    object({ a: string }, { additionalProperties: true }),
    object({ a: string }),
  ],
  'that is closed by either keyword': [
    object({ a: string }, { additionalProperties: false }),
    object({ a: string }, { unevaluatedProperties: false }),
  ],
  'that is closed around a reference': [
    object({ a: string, b: string }, { additionalProperties: false }),
    { allOf: [object({ a: string }), object({ b: string })], unevaluatedProperties: false },
  ],
  'of an integer above 0 or from 1': [
    { type: 'integer', exclusiveMinimum: 0 },
    { type: 'integer', minimum: 1 },
  ],
  'with bounds without an effect': [string, { type: 'string', minLength: 0, uniqueItems: false, maximum: 3 }],
  'with other descriptions': [
    object({ a: string }),
    {
      ...object({ a: { type: 'string', description: 'An a.', examples: ['x'] } }),
      title: 'A',
      $comment: 'None.',
      'x-order': 1,
    },
  ],
  'that is recursive and unfolded once': [
    ref('Tree'),
    object({ child: ref('Tree') }),
    both({ Tree: object({ child: ref('Tree') }) }),
  ],
  'that is recursive through alternatives': [
    ref('Tree'),
    ref('Tree'),
    {
      base: { Tree: { anyOf: [string, { type: 'array', items: ref('Tree') }, ref('Tree')] } },
      head: { Tree: { anyOf: [{ type: 'array', items: ref('Tree') }, string] } },
    },
  ],
  'with an unchanged keyword without a rule': [
    { type: 'object', patternProperties: { '^x-': string }, propertyNames: { maxLength: 9 } },
    { type: 'object', propertyNames: { maxLength: 9 }, patternProperties: { '^x-': string } },
  ],
};

test.each(Object.entries(writings))('openapi-diff reports no change for an equivalent schema %s', (_, writing) => {
  const [base, head, schemas = {}] = writing;
  expect(verdictOf(sent(base, head, schemas))).toEqual([]);
  expect(verdictOf(received(base, head, schemas))).toEqual([]);
  const back = { base: schemas.head ?? {}, head: { ...schemas.head, ...schemas.base } };
  expect(verdictOf(sent(head, base, back))).toEqual([]);
  expect(verdictOf(received(head, base, back))).toEqual([]);
});

const page = { name: 'page', in: 'query', schema: integer };
const limit = { name: 'limit', in: 'query', schema: integer };
const body = { content: { 'application/json': { schema: string } } };
const components = {
  parameters: { Page: page },
  headers: { Etag: { schema: string } },
  responses: { Done: { description: 'Done.', headers: { ETag: { schema: string } } } },
  requestBodies: { Body: body },
};
const path = (item: JsonObject): JsonObject => documentWith({ paths: { '/things': item }, components });
const done = { 200: { description: 'Done.' } };
const bearer = { type: 'http', scheme: 'bearer' };

testVerdicts({
  'no change': {
    'other descriptions, tags and versions': {
      base: operationWith({ summary: 'A', description: 'B', tags: ['C'] }),
      head: operationWith(
        { summary: 'D', tags: ['E'], externalDocs: { url: 'https://example.com' } },
        { info: { title: 'Another', version: '2.0.0' }, tags: [{ name: 'E' }], 'x-else': true },
      ),
    },
    'parameters in another order': operations({ parameters: [page, limit] }, { parameters: [limit, page] }),
    'a parameter at the path in place of the operation': {
      base: path({ get: { parameters: [page], responses: done } }),
      head: path({ parameters: [page], get: { responses: done } }),
    },
    'a parameter of the path that the operation overrides': {
      base: path({ get: { parameters: [page], responses: done } }),
      head: path({ parameters: [{ ...page, required: true }], get: { parameters: [page], responses: done } }),
    },
    'a parameter, a response and a body as components': {
      base: path({
        post: {
          parameters: [page],
          requestBody: body,
          responses: { 200: { description: 'Done.', headers: { etag: { schema: string } } } },
        },
      }),
      head: path({
        post: {
          parameters: [{ $ref: '#/components/parameters/Page' }],
          requestBody: { $ref: '#/components/requestBodies/Body' },
          responses: { 200: { $ref: '#/components/responses/Done' } },
        },
      }),
    },
    'explicit default values': operations(
      { parameters: [page] },
      { parameters: [{ ...page, required: false, style: 'form', explode: true, deprecated: false }] },
    ),
    'the name of a header in another case': operations(
      { parameters: [{ name: 'If-None-Match', in: 'header', schema: string }] },
      { parameters: [{ name: 'if-none-match', in: 'header', schema: string }] },
    ),
    'another notation of a media type': operations(
      { requestBody: { content: { 'application/json; charset=utf-8': { schema: string } } } },
      { requestBody: { content: { 'Application/JSON': { schema: string } } } },
    ),
    'security in another order or with another name': {
      base: operationWith(
        { security: [{ a: [], b: [] }, { c: [] }] },
        {
          components: {
            securitySchemes: {
              a: bearer,
              b: { type: 'apiKey', in: 'header', name: 'X-Key' },
              c: { type: 'mutualTLS' },
            },
          },
        },
      ),
      head: operationWith(
        { security: [{ c: [] }, { key: [], token: [] }] },
        {
          components: {
            securitySchemes: {
              token: { ...bearer, description: 'It.' },
              key: { type: 'apiKey', in: 'header', name: 'x-key' },
              c: { type: 'mutualTLS' },
            },
          },
        },
      ),
    },
    'either notation of no security': operations({ security: [] }, { security: [{}] }),
    'security at the operation in place of the document': {
      base: operationWith({ security: [{ a: [] }] }, { components: { securitySchemes: { a: bearer } } }),
      head: operationWith({}, { security: [{ a: [] }], components: { securitySchemes: { a: bearer } } }),
    },
    'the explicit default server': { base: operationWith({}), head: operationWith({}, { servers: [{ url: '/' }] }) },
    'an additional error that its class covers': operations(
      { responses: { ...done, '4XX': { description: 'No.', ...body } } },
      {
        responses: { ...done, '4XX': { description: 'No.', ...body }, 404: { description: 'Not here.', ...body } },
      },
    ),
    'a class of statuses that is replaced by its statuses': operations(
      { responses: { '2XX': { description: 'Done.' }, default: { description: 'No.' } } },
      { responses: { 200: { description: 'Done.' }, '4XX': { description: 'No.' }, 503: { description: 'No.' } } },
    ),
    'a path with a reference to its operations and parameters beside it': {
      base: documentWith({ paths: { '/a': { parameters: [limit], get: { responses: done } } } }),
      head: documentWith({
        paths: { '/a': { $ref: '#/components/pathItems/a', parameters: [limit] } },
        components: { pathItems: { a: { get: { responses: done } } } },
      }),
    },
  },
});
