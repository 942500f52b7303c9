import { expect, test } from 'vitest';
import { grants } from '../../contract/grants.ts';
import {
  changesOf,
  documentWith,
  done,
  integer,
  type JsonObject,
  json,
  object,
  operations,
  operationWith,
  type Pair,
  received,
  ref,
  string,
  testVerdicts,
  verdictsOf,
} from './openapi-pair.ts';

const get = { get: { responses: done } };
const documents = (base: JsonObject, head: JsonObject): Pair => ({
  base: documentWith(base),
  head: documentWith(head),
});
const paths = (base: JsonObject, head: JsonObject) => documents({ paths: base }, { paths: head });
const query = (name: string, others: JsonObject = {}) => ({ name, in: 'query', schema: string, ...others });
const requiredQuery = query('a', { required: true });
const parameters = (base: JsonObject[], head: JsonObject[]) => operations({ parameters: base }, { parameters: head });
const parameter = (base: JsonObject, head: JsonObject) => parameters([query('a', base)], [query('a', head)]);
const pathWith = (name: string, schema: JsonObject): JsonObject => ({
  [`/a/{${name}}`]: { get: { ...get.get, parameters: [{ name, in: 'path', required: true, schema }] } },
});
const schemaCalled = (name: string) => ({ components: { schemas: { [name]: object({ a: string }) } } });

testVerdicts({
  'breaking path-removed': { 'a removed path': paths({ '/a': get, '/b': get }, { '/a': get }) },
  'additive path-added': { 'a new path': paths({ '/a': get }, { '/a': get, '/b': get }) },
  'breaking operation-removed': {
    'a removed method': paths({ '/a': { ...get, post: get.get } }, { '/a': get }),
    'a removed deprecated method': paths({ '/a': { ...get, post: { ...get.get, deprecated: true } } }, { '/a': get }),
  },
  'additive operation-added': { 'a new method': paths({ '/a': get }, { '/a': { ...get, put: get.get } }) },
  'risky operation-id-changed': {
    'a changed operationId': operations({ operationId: 'a' }, { operationId: 'b' }),
    'a removed operationId': operations({ operationId: 'a' }, {}),
  },
  'no change': { 'a new operationId': operations({}, { operationId: 'a' }) },
  'risky path-parameter-renamed': {
    'a renamed path parameter': paths(pathWith('id', string), pathWith('key', string)),
  },
  'breaking request-type-narrowed': {
    'a path parameter with another type': paths(pathWith('id', string), pathWith('id', integer)),
  },
  'risky schema-name-removed': { 'a renamed schema': documents(schemaCalled('A'), schemaCalled('B')) },
  'breaking parameter-removed': { 'a removed parameter': parameters([query('a')], []) },
  'additive parameter-added': { 'a new optional parameter': parameters([], [query('a')]) },
  'breaking parameter-required': {
    'a new required parameter': parameters([], [requiredQuery]),
    'a parameter that becomes required': parameters([query('a')], [requiredQuery]),
    'a new required parameter of a path': paths({ '/a': get }, { '/a': { ...get, parameters: [requiredQuery] } }),
  },
  'additive parameter-optional': { 'a parameter that becomes optional': parameters([requiredQuery], [query('a')]) },
  'breaking parameter-removed, additive parameter-added': {
    'a moved parameter': parameters([query('a')], [{ ...query('a'), in: 'header' }]),
  },
  'breaking request-enum-value-removed': {
    'a removed value of a parameter': parameter({ schema: { enum: ['x', 'y'] } }, { schema: { enum: ['x'] } }),
  },
  'breaking request-default-changed': {
    'a changed default of a parameter': parameter({ schema: { default: 20 } }, { schema: { default: 50 } }),
  },
  'breaking parameter-serialization-changed': {
    'a changed serialization of a list': parameter({ explode: true }, { explode: false }),
    'a parameter that becomes JSON': parameters([query('a')], [{ name: 'a', in: 'query', content: json(string) }]),
    'a parameter that no longer allows reserved characters, and another that newly allows them': parameters(
      [query('a', { allowReserved: true }), query('b')],
      [query('a'), query('b', { allowReserved: true })],
    ),
  },
  'additive deprecated': {
    'a deprecated operation': operations({}, { deprecated: true }),
    'a deprecated parameter': parameter({}, { deprecated: true }),
  },
});

const bodies = (base: JsonObject | undefined, head: JsonObject | undefined): Pair =>
  operations(base ? { requestBody: base } : {}, head ? { requestBody: head } : {});
const body = { content: json(string) };
const contents = (base: JsonObject, head: JsonObject) => bodies({ content: base }, { content: head });
const form = (contentType: string) => ({ 'multipart/form-data': { encoding: { a: { contentType } } } });
testVerdicts({
  'breaking request-body-required': {
    'a new required body': bodies(undefined, { ...body, required: true }),
    'a body that becomes required': bodies(body, { ...body, required: true }),
  },
  'additive request-body-added': { 'a new optional body': bodies(undefined, body) },
  'additive request-body-optional': { 'a body that becomes optional': bodies({ ...body, required: true }, body) },
  'breaking request-body-removed': { 'a removed body': bodies(body, undefined) },
  'breaking request-media-type-removed, additive request-media-type-added': {
    'another media type of a request': contents(json(string), { 'text/csv': { schema: string } }),
    'a range of media types that becomes one type': contents({ 'image/*': {} }, { 'image/png': {} }),
  },
  'no change': { 'a media type that becomes a wildcard': contents(json(string), { '*/*': { schema: string } }) },
  'risky encoding-changed': {
    'a changed encoding of parts': contents(form('text/plain'), form('text/csv')),
  },
});

const responses = (base: JsonObject, head: JsonObject) => operations({ responses: base }, { responses: head });
const answer = (content: JsonObject) => ({ description: 'An answer.', content });
const answers = (base: JsonObject, head: JsonObject) => responses({ 200: answer(base) }, { 200: answer(head) });
const headers = (base: JsonObject, head: JsonObject) =>
  responses({ 200: { description: 'Done.', headers: base } }, { 200: { description: 'Done.', headers: head } });
const header = { schema: string };
const required = { ...header, required: true };
const refusing = { ...done, 409: { description: 'No.' } };
const keyed = (...keys: string[]) => answer(json(object({ 'error!': object({ 'key!': { enum: keys } }) })));
testVerdicts({
  'breaking response-status-removed, risky response-status-added': {
    'a changed success status': responses(done, { 201: { description: 'Made.' } }),
  },
  'risky response-status-added': {
    'a new success status': responses(done, { ...done, 202: { description: 'Soon.' } }),
    'a new error status': responses(done, refusing),
    'a class of statuses in place of one status': responses(refusing, { ...done, '4XX': { description: 'No.' } }),
  },
  'breaking response-status-removed': { 'a removed error status': responses(refusing, done) },
  'breaking response-type-widened': {
    'another type of a status that replaces its class': responses(
      { ...done, '4XX': answer(json(string)) },
      { ...done, 404: answer(json(integer)) },
    ),
    'a response header with another type': headers({ Age: { schema: integer } }, { Age: header }),
  },
  'breaking error-key-removed': {
    'an error key that is removed from a class of statuses, and two others that move to single statuses': responses(
      { ...done, '4XX': keyed('a', 'b', 'c') },
      { ...done, 404: keyed('a'), 409: keyed('b') },
    ),
  },
  'risky error-key-added': {
    'a new error key in a response that replaces the default response for one status': responses(
      { ...done, default: keyed('a', 'b') },
      { ...done, 404: keyed('a', 'c'), default: keyed('a', 'b') },
    ),
  },
  'breaking response-body-removed': { 'a removed response body': answers(json(string), {}) },
  'additive response-body-added': { 'a new response body': answers({}, json(string)) },
  'breaking response-media-type-removed, additive response-media-type-added': {
    'another media type of a response': answers(json(string), { 'text/csv': { schema: string } }),
  },
  'additive response-media-type-added': {
    'a new media type of a response': answers(json(string), { ...json(string), 'text/csv': { schema: string } }),
  },
  'no change': { 'a wildcard media type that becomes one type': answers({ '*/*': {} }, { 'text/csv': {} }) },
  'breaking response-header-removed': { 'a removed response header': headers({ ETag: header }, {}) },
  'additive response-header-added': { 'a new response header': headers({}, { ETag: header }) },
  'breaking response-header-optional': {
    'a response header that becomes optional': headers({ ETag: required }, { etag: header }),
  },
  'additive response-header-required': {
    'a response header that becomes required': headers({ ETag: header }, { ETag: required }),
  },
  'risky link-removed': {
    'a removed link': responses({ 200: { description: 'Done.', links: { next: { operationId: 'a' } } } }, done),
  },
});

const stream = (type: string) => ({
  responses: { 200: { description: 'Done.', content: { 'text/event-stream': { itemSchema: { type } } } } },
});
const items = (base: JsonObject, head: JsonObject) =>
  documents({ openapi: '3.2.0', paths: { '/a': base } }, { openapi: '3.2.0', paths: { '/a': head } });
const toAnchor = object({ a: { $ref: '#name' } });
const anchored = (type: string) => ({ Name: { $anchor: 'name', type } });
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
});

const servers = (base: JsonObject, head: JsonObject): Pair => ({
  base: operationWith({}, { servers: [base] }),
  head: operationWith({}, { servers: [head] }),
});
const serverAt = (path: string) => ({ servers: [{ url: `https://a.example${path}` }] });
const at = (host: string) => ({ url: `https://${host}.example.com` });
const variableCalled = (name: string, values: string[]) => ({
  url: `https://{${name}}.example.com`,
  variables: { [name]: { default: values[0] ?? '', enum: values } },
});
const variable = (...values: string[]) => variableCalled('region', values);
testVerdicts({
  'breaking server-removed, additive server-added': {
    'a changed server address': servers(at('a'), at('b')),
    'a new version in the URLs of the servers': documents(
      { ...serverAt('/v1'), paths: { '/a': get } },
      { ...serverAt('/v2'), paths: { '/a': get } },
    ),
    'a server address that no value of its new variable produces': servers(at('asia'), variable('us', 'eu')),
    'another server address of one operation': operations({}, { servers: [at('b')] }),
  },
  'no change': {
    'a part of the paths that moves into the URLs of the servers': documents(
      { ...serverAt(''), paths: { '/v1/a': get } },
      { ...serverAt('/v1/'), paths: { '/a': get } },
    ),
    'a part of the URLs of the servers that moves into the paths': documents(
      { ...serverAt('/v1/'), paths: { '/a': get } },
      { ...serverAt(''), paths: { '/v1/a': get } },
    ),
    'a trailing slash of a server address': servers({ url: 'https://a.example.com/' }, at('a')),
    'a server variable that is replaced by its only value': servers(variable('eu'), at('eu')),
  },
  'breaking server-removed': { 'a removed value of a server variable': servers(variable('eu', 'us'), variable('eu')) },
  'additive server-added': {
    'a new value of a server variable': servers(variable('eu'), variable('eu', 'us')),
    'a server address that becomes one of the values of a variable': servers(at('eu'), variable('us', 'eu')),
  },
  'risky server-default-changed': {
    'a changed default of a server variable': servers(variable('eu', 'us'), variable('us', 'eu')),
  },
  'risky server-variable-renamed': {
    'a renamed server variable': servers(variable('eu'), variableCalled('zone', ['eu'])),
  },
});

const bearer = { type: 'http', scheme: 'bearer' };
const key = { type: 'apiKey', in: 'header', name: 'X-Key' };
const oauthWith = (flow: JsonObject) => ({
  type: 'oauth2',
  flows: { clientCredentials: { tokenUrl: 'https://a.example.com', scopes: { r: '', w: '' }, ...flow } },
});
const securitySchemes = { bearer, key, oauth: oauthWith({}) };
const secured = (security: JsonObject[], schemes: JsonObject = {}) =>
  operationWith({ security }, { components: { securitySchemes: { ...securitySchemes, ...schemes } } });
const security = (base: JsonObject[], head: JsonObject[]): Pair => ({ base: secured(base), head: secured(head) });
const schemes = (name: string, requirement: string[], base: JsonObject, head: JsonObject): Pair => ({
  base: secured([{ [name]: requirement }], { [name]: base }),
  head: secured([{ [name]: requirement }], { [name]: head }),
});
const flows = (changed: JsonObject) => schemes('oauth', ['r'], oauthWith({}), oauthWith(changed));
const rate = (limit: number, windowSeconds: number) => ({ 'x-rate-limit': { limit, windowSeconds } });
const pending = { parameters: [query('state')], 'x-grant-by-query': { 'state=pending': 'moderate' } };
testVerdicts({
  'breaking security-tightened': {
    'a security scheme for an operation that needed none': security([], [{ bearer: [] }]),
    'another security scheme': security([{ bearer: [] }], [{ key: [] }]),
    'an additional scheme in a security requirement': security([{ bearer: [] }], [{ bearer: [], key: [] }]),
    'a removed alternative security requirement': security([{ bearer: [] }, { key: [] }], [{ bearer: [] }]),
    'an additional OAuth scope of an operation': security([{ oauth: ['r'] }], [{ oauth: ['r', 'w'] }]),
    'a new security requirement of the document': {
      base: operationWith({}, { components: { securitySchemes } }),
      head: operationWith({}, { components: { securitySchemes }, security: [{ bearer: [] }] }),
    },
    'a changed security scheme with the same name': schemes('a', [], bearer, key),
  },
  'additive security-relaxed': {
    'a removed last security scheme': security([{ bearer: [] }], []),
    'a removed scheme in a security requirement': security([{ bearer: [], key: [] }], [{ key: [] }]),
    'a new alternative security requirement': security([{ bearer: [] }], [{ bearer: [] }, { key: [] }]),
    'a removed OAuth scope of an operation': security([{ oauth: ['r', 'w'] }], [{ oauth: ['r'] }]),
  },
  'breaking oauth-flow-changed': {
    'a changed token URL of an OAuth flow': flows({ tokenUrl: 'https://b.example.com' }),
    'a removed scope of an OAuth flow': flows({ scopes: { r: '' } }),
  },
  'additive oauth-flow-added': { 'a new scope of an OAuth flow': flows({ scopes: { r: '', w: '', x: '' } }) },
  'breaking grant-raised': {
    'a higher token grant of an operation': operations({ 'x-grant': 'read' }, { 'x-grant': 'write' }),
    'a token grant for an operation that needed none': operations({}, { 'x-grant': 'read' }),
    'an unknown token grant of an operation': operations({ 'x-grant': 'moderate' }, { 'x-grant': 'own' }),
    'a higher grant for a query parameter': operations({}, { 'x-grant-by-query': { state: 'moderate' } }),
    'a higher grant for a value of an existing query parameter': operations({ parameters: [query('state')] }, pending),
  },
  'additive parameter-added': { 'a new query parameter with a grant': operations({}, pending) },
  'additive grant-lowered': {
    'a lower token grant of an operation': operations({ 'x-grant': 'moderate' }, { 'x-grant': 'write' }),
  },
  'risky bucket-changed': {
    'another rate limit bucket of an operation': operations(
      { 'x-bucket': 'apitoken:read' },
      { 'x-bucket': 'apitoken:write' },
    ),
  },
  'risky rate-limit-lowered': {
    'a lower rate limit of an operation': operations(rate(20, 60), rate(20, 3600)),
    'a rate limit for an operation that had none': operations({}, rate(20, 60)),
  },
  'additive rate-limit-raised': { 'a higher rate limit of an operation': operations(rate(20, 60), rate(30, 60)) },
});

const event = (schema: JsonObject, others: JsonObject = {}): JsonObject => ({
  post: { requestBody: { required: true, content: json(schema) }, responses: done, ...others },
});
const webhooks = (base: JsonObject, head: JsonObject) => documents({ webhooks: base }, { webhooks: head });
const webhook = (base: JsonObject, head: JsonObject) => webhooks({ a: base }, { a: head });
const before = event(object({ 'a!': string }));
const silent = { post: { responses: done } };
const announced = (required: boolean) =>
  event(string, { parameters: [{ name: 'webhook-id', in: 'header', required, schema: string }] });
const csv = { required: true, content: { 'text/csv': {} } };
const needing = (scheme: string) => event(string, { security: [{ [scheme]: [] }] });
const answered = (responses: JsonObject) => event(string, { responses });
const [open, strict] = [answer(json(object({}))), answer(json(object({ 'a!': string })))];
const callback = (fields: JsonObject) => ({ callbacks: { done: { '{$request.body#/url}': event(object(fields)) } } });
testVerdicts({
  'breaking webhook-removed': { 'a removed webhook': webhooks({ a: before, b: before }, { a: before }) },
  'additive webhook-added': { 'a new webhook': webhooks({ a: before }, { a: before, b: before }) },
  'additive response-field-added': {
    'a new required field of a webhook': webhook(before, event(object({ 'a!': string, 'b!': string }))),
  },
  'breaking response-field-removed': { 'a removed field of a webhook': webhook(before, event(object({}))) },
  'breaking response-field-optional': {
    'a field of a webhook that becomes optional': webhook(before, event(object({ a: string }))),
  },
  'breaking webhook-body-optional': {
    'a webhook body that becomes optional': webhook(event(string), event({}, { requestBody: body })),
  },
  'breaking webhook-body-removed, additive webhook-body-added': {
    'the removed body of one webhook and a new body of another': webhooks(
      { a: before, b: silent },
      { a: silent, b: before },
    ),
  },
  'breaking webhook-media-type-changed, breaking webhook-media-type-changed': {
    'another media type of a webhook': webhook(before, event({}, { requestBody: csv })),
  },
  'breaking webhook-parameter-removed': {
    'a removed webhook header': webhook(announced(true), event(string)),
    'a webhook header that becomes optional': webhook(announced(true), announced(false)),
  },
  'additive webhook-parameter-added': { 'a new required webhook header': webhook(event(string), announced(true)) },
  'breaking webhook-answer-refused': {
    'a removed response to a webhook': webhook(answered({ '2XX': { description: 'Yes.' } }), answered(done)),
  },
  'additive webhook-answer-added': {
    'a new response to a webhook': webhook(answered(done), answered({ ...done, 410: { description: 'Stop.' } })),
  },
  'breaking request-field-required': {
    'a new required field in one status of a class of responses to a webhook': webhook(
      answered({ '2XX': open }),
      answered({ 200: strict, '2XX': open }),
    ),
    'a new required field in the response to a webhook': webhook(answered({ 200: open }), answered({ 200: strict })),
  },
  'breaking webhook-security-changed': {
    'changed security requirements of a webhook': webhook(needing('a'), needing('b')),
  },
  'no change': {
    'a new security requirement of requests, which does not concern webhooks': documents(
      { webhooks: { a: before } },
      { webhooks: { a: before }, security: [{ bearer: [] }], components: { securitySchemes } },
    ),
  },
  'breaking response-field-optional, additive response-field-added': {
    'a callback with an optional and a new field': operations(callback({ 'a!': {} }), callback({ a: {}, 'b!': {} })),
  },
});

const returning = (schema: JsonObject) => ({ get: { responses: { 200: answer(json(schema)) } } });
const board = (author: JsonObject): JsonObject =>
  documentWith({
    paths: {
      '/b': returning({ type: 'array', items: ref('Idea') }),
      '/a': returning(object({ idea: ref('Idea'), target: ref('Idea') })),
    },
    components: { schemas: { Idea: object({ 'id!': string, 'author!': ref('Author') }), Author: author } },
  });

test('openapi-diff reports a change of a shared component once, with all places that use this component, in the order of the paths', () => {
  const changes = changesOf({ base: board(object({ 'name!': string })), head: board(object({ name: string })) });
  expect(changes).toEqual([
    {
      level: 'breaking',
      rule: 'response-field-optional',
      message: '`name` may now be missing.',
      action: 'Handle data without the field.',
      base: '#/components/schemas/Author/properties/name',
      head: '#/components/schemas/Author/properties/name',
      places: [
        expect.objectContaining({ operation: 'GET /a', where: 'response 200', field: 'idea.author.name' }),
        expect.objectContaining({ operation: 'GET /a', where: 'response 200', field: 'target.author.name' }),
        expect.objectContaining({ operation: 'GET /b', where: 'response 200', field: '[].author.name' }),
      ],
    },
  ]);
});

test('openapi-diff reports the same change in several places once, with a JSON pointer to each place', () => {
  const api = (headers: JsonObject) => {
    const item = { get: { responses: { 200: { description: 'Done.', headers } } } };
    return { '/a': item, '/b': item };
  };
  const changes = changesOf(paths(api({ ETag: header }), api({})));
  expect(changes).toHaveLength(1);
  expect(changes[0]?.places.map(({ operation, base, head }) => [operation, base, head])).toEqual([
    ['GET /a', '#/paths/~1a/get/responses/200/headers/ETag', '#/paths/~1a/get/responses/200'],
    ['GET /b', '#/paths/~1b/get/responses/200/headers/ETag', '#/paths/~1b/get/responses/200'],
  ]);
});

test('the report of openapi-diff does not depend on the order of fields in the documents', () => {
  const isMap = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  const reversed = (document: JsonObject): JsonObject =>
    JSON.parse(JSON.stringify(document), (_, value) =>
      isMap(value) ? Object.fromEntries(Object.entries(value).reverse()) : value,
    );
  const base = board(object({ 'name!': string, age: string }));
  const head = board(object({ name: string, id: string }));
  expect(changesOf({ base, head })).toHaveLength(3);
  expect(changesOf({ base: reversed(base), head: reversed(head) })).toEqual(changesOf({ base, head }));
});

test('openapi-diff reports a change in a recursive schema once', () => {
  const schemas = (fields: JsonObject) => ({
    Tree: object({ child: ref('Tree'), children: { type: 'array', items: ref('Tree') }, ...fields }),
  });
  const pair = received(ref('Tree'), ref('Tree'), { base: schemas({ 'name!': string }), head: schemas({}) });
  const place = expect.objectContaining({ field: 'name' });
  expect(changesOf(pair)).toEqual([expect.objectContaining({ rule: 'response-field-removed', places: [place] })]);
});

test.each(grants.slice(1).map((grant, n) => [grants[n] as string, grant]))(
  'openapi-diff treats the token grant %s as lower than the grant %s',
  (lower, higher) => {
    const verdict = (was: string, is: string) => verdictsOf(operations({ 'x-grant': was }, { 'x-grant': is }));
    expect(verdict(lower, higher)).toBe('breaking grant-raised');
    expect(verdict(higher, lower)).toBe('additive grant-lowered');
  },
);
