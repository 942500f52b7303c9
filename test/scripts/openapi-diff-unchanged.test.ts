import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { compareDocuments, parseDocument } from '../../scripts/openapi-diff/main.ts';
import {
  documentWith,
  done,
  integer,
  type Json,
  type JsonObject,
  json,
  object,
  operations,
  operationWith,
  type Pair,
  received,
  ref,
  sent,
  string,
  testVerdicts,
  verdictsOf,
} from './openapi-pair.ts';

const cat = object({ 'kind!': { const: 'cat' }, lives: integer });
const dog = object({ 'kind!': { const: 'dog' } });

const both = (schemas: JsonObject) => ({ base: schemas, head: schemas });
const nullable = { type: ['string', 'null'] };
const open = object({ a: string });
const closed = object({ a: string }, { additionalProperties: false });
const list = (...items: Json[]) => ({ anyOf: [...items, { type: 'array', items: ref('Tree') }] });

/** Pairs of schemas with the same meaning and different notations, keyed by the difference. */
const writings: Record<string, [base: Json, head: Json, schemas?: { base?: JsonObject; head?: JsonObject }]> = {
  'with its fields in another order': [
    { type: 'object', properties: { a: string, b: integer }, required: ['a', 'b'] },
    { required: ['b', 'a'], properties: { b: integer, a: string }, type: 'object' },
  ],
  'with its values in another order': [{ enum: ['x', 'y', null] }, { enum: [null, 'y', 'x'] }],
  'with its types in another order': [nullable, { type: ['null', 'string'] }],
  'with its alternatives in another order': [{ oneOf: [cat, dog] }, { oneOf: [dog, cat] }],
  'with its alternatives by anyOf instead of oneOf': [{ oneOf: [cat, dog] }, { anyOf: [cat, dog] }],
  'as a component in place of an inline schema': [cat, ref('Cat'), { head: { Cat: cat } }],
  'as a component of a component': [
    ref('Cat'),
    ref('Kitten'),
    { base: { Cat: cat }, head: { Cat: ref('Kitten'), Kitten: cat } },
  ],
  'with a description beside a reference': [ref('Cat'), { ...ref('Cat'), description: 'Meows.' }, both({ Cat: cat })],
  'with allOf around a reference': [ref('Cat'), { allOf: [ref('Cat')], description: 'Meows.' }, both({ Cat: cat })],
  'merged in place of allOf': [{ allOf: [open, object({ 'b!': string })] }, object({ a: string, 'b!': string })],
  'with merged bounds in place of allOf': [
    { allOf: [{ type: 'string', maxLength: 9 }, { maxLength: 5 }] },
    { type: 'string', maxLength: 5 },
  ],
  'with a constant as a list of one value': [{ const: 'x' }, { enum: ['x'] }],
  'with constants as a list of values': [{ oneOf: [{ const: 'x' }, { const: 'y', title: 'Y' }] }, { enum: ['x', 'y'] }],
  'with null as an alternative': [nullable, { anyOf: [string, { type: 'null' }] }],
  'with null as an alternative of a component': [
    { anyOf: [ref('Cat'), { type: 'null' }] },
    { oneOf: [{ type: 'null' }, cat] },
    both({ Cat: cat }),
  ],
  'with its types as alternatives': [{ type: ['string', 'integer'] }, { anyOf: [string, integer] }],
  'with an alternative repeated': [{ oneOf: [cat, dog, cat] }, { oneOf: [cat, dog] }],
  'with one alternative only': [{ anyOf: [string] }, string],
  'with alternatives in alternatives': [{ anyOf: [cat, { anyOf: [dog, string] }] }, { anyOf: [cat, dog, string] }],
  'of any value, as true or as an empty schema': [true, {}],
  'with additional fields, explicit or implicit': [{ ...open, additionalProperties: true }, open],
  'that is closed by either keyword': [closed, { ...open, unevaluatedProperties: false }],
  'that is closed around a reference': [
    object({ a: string, b: string }, { additionalProperties: false }),
    { allOf: [open, object({ b: string })], unevaluatedProperties: false },
  ],
  'of an integer above 0 or from 1': [
    { ...integer, exclusiveMinimum: 0 },
    { ...integer, minimum: 1 },
  ],
  'with bounds without an effect': [string, { type: 'string', minLength: 0, uniqueItems: false, maximum: 3 }],
  'with other descriptions': [
    open,
    object(
      { a: { ...string, description: 'An a.', examples: ['x'] } },
      { title: 'A', $comment: 'None.', 'x-order': 1 },
    ),
  ],
  'that is recursive and unfolded once': [
    ref('Tree'),
    object({ child: ref('Tree') }),
    both({ Tree: object({ child: ref('Tree') }) }),
  ],
  'that is recursive through alternatives': [
    ref('Tree'),
    ref('Tree'),
    { base: { Tree: list(ref('Tree'), string) }, head: { Tree: list(string) } },
  ],
  'with an unchanged keyword without a rule': [
    { type: 'object', patternProperties: { '^x-': string }, propertyNames: { maxLength: 9 } },
    { type: 'object', propertyNames: { maxLength: 9 }, patternProperties: { '^x-': string } },
  ],
};

test.each(Object.entries(writings))(
  'openapi-diff reports no change if a schema becomes an equivalent schema %s, both as a body and as a field of a body',
  (_, writing) => {
    const [base, head, schemas = {}] = writing;
    const back = { base: schemas.head ?? {}, head: { ...schemas.head, ...schemas.base } };
    for (const place of [(schema: Json) => schema, (schema: Json) => object({ a: schema })]) {
      for (const pairOf of [sent, received]) {
        expect(verdictsOf(pairOf(place(base), place(head), schemas))).toBe('no change');
        expect(verdictsOf(pairOf(place(head), place(base), back))).toBe('no change');
      }
    }
  },
);

test('openapi-diff finds no change between a YAML document and the same document in JSON', () => {
  const { head: document } = received(true, object({ 'a!': string, yes: { enum: ['no', '1.0', null] } }));
  const [yaml, json] = [stringify(document), JSON.stringify(document)];
  expect(compareDocuments(parseDocument('base', yaml), parseDocument('head', json)).changes).toEqual([]);
});

test('openapi-diff finds no change between an OpenAPI 3.0 document and its translation to 3.1', () => {
  const old = object({
    a: { type: 'string', nullable: true, default: null },
    b: { type: 'integer', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    c: { allOf: [ref('Name')], nullable: true },
    d: { ...ref('Name'), maxLength: 3 },
    nullable: { type: 'boolean', nullable: false },
  });
  const now = object({
    a: { type: ['string', 'null'], default: null },
    b: { type: 'integer', exclusiveMinimum: 0, maximum: 9 },
    c: { anyOf: [ref('Name'), { type: 'null' }] },
    d: ref('Name'),
    nullable: { type: 'boolean' },
  });
  const { base, head } = received(old, now, both({ Name: string }));
  const former = { ...base, openapi: '3.0.3' };
  expect(verdictsOf({ base: former, head })).toBe('no change');
  expect(verdictsOf({ base: head, head: former })).toBe('no change');
});

const page = { name: 'page', in: 'query', schema: integer };
const limit = { name: 'limit', in: 'query', schema: integer };
const parameters = (base: Json[], head: Json[]) => operations({ parameters: base }, { parameters: head });
const header = (name: string) => ({ name, in: 'header', schema: string });
const refused = { description: 'No.', content: json(string) };
const body = (type: string) => ({ content: { [type]: { schema: string } } });
const response = (name: string) => ({ description: 'Done.', headers: { [name]: { schema: string } } });
const components = {
  parameters: { Page: page },
  responses: { Done: response('ETag') },
  requestBodies: { Body: body('application/json') },
  pathItems: { Read: { get: { responses: done } } },
};
const paths = (base: JsonObject, head: JsonObject): Pair => ({
  base: documentWith({ paths: { '/things': base }, components }),
  head: documentWith({ paths: { '/things': head }, components }),
});
const paged = { parameters: [page], responses: done };
const bearer = { type: 'http', scheme: 'bearer' };
const key = (name: string) => ({ type: 'apiKey', in: 'header', name });
const schemes = (securitySchemes: JsonObject, others: JsonObject = {}) => ({
  components: { securitySchemes },
  ...others,
});

testVerdicts({
  'no change': {
    'other descriptions, tags and versions': {
      base: operationWith({ summary: 'A', description: 'B', tags: ['C'] }),
      head: operationWith(
        { summary: 'D', tags: ['E'], externalDocs: { url: 'https://example.com' } },
        { info: { title: 'Another', version: '2.0.0' }, tags: [{ name: 'E' }], 'x-else': true },
      ),
    },
    'parameters in another order': parameters([page, limit], [limit, page]),
    'a parameter at the path in place of the operation': paths(
      { get: paged },
      { parameters: [page], get: { responses: done } },
    ),
    'a parameter of the path that the operation overrides': paths(
      { get: paged },
      { parameters: [{ ...page, required: true }], get: paged },
    ),
    'a parameter, a response and a body as components': paths(
      { post: { parameters: [page], requestBody: body('application/json'), responses: { 200: response('etag') } } },
      {
        post: {
          parameters: [{ $ref: '#/components/parameters/Page' }],
          requestBody: { $ref: '#/components/requestBodies/Body' },
          responses: { 200: { $ref: '#/components/responses/Done' } },
        },
      },
    ),
    'explicit default values': parameters(
      [page],
      [{ ...page, required: false, style: 'form', explode: true, deprecated: false }],
    ),
    'the name of a header in another case': parameters([header('If-None-Match')], [header('if-none-match')]),
    'another notation of a media type': operations(
      { requestBody: body('application/json; charset=utf-8') },
      { requestBody: body('Application/JSON') },
    ),
    'security in another order or with another name': {
      base: operationWith(
        { security: [{ a: [], b: [] }, { c: [] }] },
        schemes({ a: bearer, b: key('X-Key'), c: { type: 'mutualTLS' } }),
      ),
      head: operationWith(
        { security: [{ c: [] }, { key: [], token: [] }] },
        schemes({ token: { ...bearer, description: 'It.' }, key: key('x-key'), c: { type: 'mutualTLS' } }),
      ),
    },
    'either notation of no security': operations({ security: [] }, { security: [{}] }),
    'security at the operation in place of the document': {
      base: operationWith({ security: [{ a: [] }] }, schemes({ a: bearer })),
      head: operationWith({}, schemes({ a: bearer }, { security: [{ a: [] }] })),
    },
    'the explicit default server': { base: operationWith({}), head: operationWith({}, { servers: [{ url: '/' }] }) },
    'an additional error that its class covers': operations(
      { responses: { ...done, '4XX': refused } },
      { responses: { ...done, '4XX': refused, 404: { ...refused, description: 'Not here.' } } },
    ),
    'a class of statuses that is replaced by its statuses': operations(
      { responses: { '2XX': { description: 'Done.' }, default: refused } },
      { responses: { ...done, '4XX': refused, 503: refused } },
    ),
    'a path with a reference to its operations and parameters beside it': paths(
      { parameters: [limit], get: { responses: done } },
      { $ref: '#/components/pathItems/Read', parameters: [limit] },
    ),
  },
});
