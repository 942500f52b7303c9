import { describe, expect, test } from 'vitest';
import { grants } from '../../contract/grants.ts';
import {
  changesOf,
  documentWith,
  type JsonObject,
  object,
  operations,
  operationWith,
  type Pair,
  verdictOf,
} from './openapi-pair.ts';

const string = { type: 'string' };
const done = { 200: { description: 'Done.' } };
const get = { get: { responses: done } };
const json = (schema: JsonObject) => ({ 'application/json': { schema } });
const paths = (base: JsonObject, head: JsonObject): Pair => ({
  base: documentWith({ paths: base }),
  head: documentWith({ paths: head }),
});
const query = (name: string, others: JsonObject = {}) => ({ name, in: 'query', schema: string, ...others });
const parameters = (base: JsonObject[], head: JsonObject[]) => operations({ parameters: base }, { parameters: head });
const responses = (base: JsonObject, head: JsonObject) => operations({ responses: base }, { responses: head });
const headers = (base: JsonObject, head: JsonObject) =>
  responses({ 200: { description: 'Done.', headers: base } }, { 200: { description: 'Done.', headers: head } });
const header = { schema: string };

describe('changes of paths and operations', () => {
  test.each<[string, Pair, string[]]>([
    ['a removed path is breaking', paths({ '/a': get, '/b': get }, { '/a': get }), ['breaking path-removed']],
    ['a new path is additive', paths({ '/a': get }, { '/a': get, '/b': get }), ['additive path-added']],
    [
      'a removed method is breaking',
      paths({ '/a': { ...get, post: get.get } }, { '/a': get }),
      ['breaking operation-removed'],
    ],
    [
      'a removed deprecated method is breaking',
      paths({ '/a': { ...get, post: { ...get.get, deprecated: true } } }, { '/a': get }),
      ['breaking operation-removed'],
    ],
    [
      'a new method is additive',
      paths({ '/a': get }, { '/a': { ...get, put: get.get } }),
      ['additive operation-added'],
    ],
    ['a deprecated operation is additive', operations({}, { deprecated: true }), ['additive deprecated']],
    [
      'a changed operationId is risky',
      operations({ operationId: 'a' }, { operationId: 'b' }),
      ['risky operation-id-changed'],
    ],
    ['a removed operationId is risky', operations({ operationId: 'a' }, {}), ['risky operation-id-changed']],
    ['a new operationId is no change', operations({}, { operationId: 'a' }), []],
    [
      'a renamed path parameter is risky',
      paths(
        {
          '/a/{id}': { get: { ...get.get, parameters: [{ name: 'id', in: 'path', required: true, schema: string }] } },
        },
        {
          '/a/{key}': {
            get: { ...get.get, parameters: [{ name: 'key', in: 'path', required: true, schema: string }] },
          },
        },
      ),
      ['risky path-parameter-renamed'],
    ],
    [
      'a path parameter with another type is breaking',
      paths(
        {
          '/a/{id}': { get: { ...get.get, parameters: [{ name: 'id', in: 'path', required: true, schema: string }] } },
        },
        {
          '/a/{id}': {
            get: { ...get.get, parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'integer' } }] },
          },
        },
      ),
      ['breaking request-type-narrowed'],
    ],
    [
      'a renamed schema is risky',
      {
        base: documentWith({ components: { schemas: { A: object({ a: string }) } } }),
        head: documentWith({ components: { schemas: { B: object({ a: string }) } } }),
      },
      ['risky schema-name-removed'],
    ],
  ])('openapi-diff decides that %s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('changes of parameters', () => {
  test.each<[string, Pair, string[]]>([
    ['a removed parameter is breaking', parameters([query('a')], []), ['breaking parameter-removed']],
    ['a new optional parameter is additive', parameters([], [query('a')]), ['additive parameter-added']],
    [
      'a new required parameter is breaking',
      parameters([], [query('a', { required: true })]),
      ['breaking parameter-required'],
    ],
    [
      'a parameter that becomes required is breaking',
      parameters([query('a')], [query('a', { required: true })]),
      ['breaking parameter-required'],
    ],
    [
      'a parameter that becomes optional is additive',
      parameters([query('a', { required: true })], [query('a')]),
      ['additive parameter-optional'],
    ],
    [
      'a moved parameter counts as removed and added',
      parameters([query('a')], [{ ...query('a'), in: 'header' }]),
      ['breaking parameter-removed', 'additive parameter-added'],
    ],
    [
      'a parameter of the path that becomes required is breaking',
      {
        base: documentWith({ paths: { '/a': get } }),
        head: documentWith({ paths: { '/a': { ...get, parameters: [query('a', { required: true })] } } }),
      },
      ['breaking parameter-required'],
    ],
    [
      'a removed value of a parameter is breaking',
      parameters([query('a', { schema: { enum: ['x', 'y'] } })], [query('a', { schema: { enum: ['x'] } })]),
      ['breaking request-enum-value-removed'],
    ],
    [
      'a changed default of a parameter is breaking',
      parameters([query('a', { schema: { default: 20 } })], [query('a', { schema: { default: 50 } })]),
      ['breaking request-default-changed'],
    ],
    [
      'a changed serialization of a list is breaking',
      parameters([query('a', { explode: true })], [query('a', { explode: false })]),
      ['breaking parameter-serialization-changed'],
    ],
    [
      'a parameter that becomes JSON is breaking',
      parameters([query('a')], [{ name: 'a', in: 'query', content: json(string) }]),
      ['breaking parameter-serialization-changed'],
    ],
    [
      'forbidding reserved characters is breaking, and allowing them is no change',
      parameters([query('a', { allowReserved: true }), query('b')], [query('a'), query('b', { allowReserved: true })]),
      ['breaking parameter-serialization-changed'],
    ],
    [
      'a deprecated parameter is additive',
      parameters([query('a')], [query('a', { deprecated: true })]),
      ['additive deprecated'],
    ],
  ])('openapi-diff decides that %s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('changes of request bodies', () => {
  const bodies = (base: JsonObject | undefined, head: JsonObject | undefined): Pair =>
    operations(base ? { requestBody: base } : {}, head ? { requestBody: head } : {});
  const body = { content: json(string) };
  test.each<[string, Pair, string[]]>([
    [
      'a new required body is breaking',
      bodies(undefined, { ...body, required: true }),
      ['breaking request-body-required'],
    ],
    ['a new optional body is additive', bodies(undefined, body), ['additive request-body-added']],
    [
      'a body that becomes required is breaking',
      bodies(body, { ...body, required: true }),
      ['breaking request-body-required'],
    ],
    [
      'a body that becomes optional is additive',
      bodies({ ...body, required: true }, body),
      ['additive request-body-optional'],
    ],
    ['a removed body is breaking', bodies(body, undefined), ['breaking request-body-removed']],
    [
      'another media type of a request is breaking',
      bodies(body, { content: { 'text/csv': { schema: string } } }),
      ['breaking request-media-type-removed', 'additive request-media-type-added'],
    ],
    ['a media type that becomes a wildcard is no change', bodies(body, { content: { '*/*': { schema: string } } }), []],
    [
      'a range of media types that becomes one type is breaking',
      bodies({ content: { 'image/*': {} } }, { content: { 'image/png': {} } }),
      ['breaking request-media-type-removed', 'additive request-media-type-added'],
    ],
    [
      'a changed encoding of parts is risky',
      bodies(
        { content: { 'multipart/form-data': { encoding: { a: { contentType: 'text/plain' } } } } },
        { content: { 'multipart/form-data': { encoding: { a: { contentType: 'text/csv' } } } } },
      ),
      ['risky encoding-changed'],
    ],
  ])('openapi-diff decides that %s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('changes of responses', () => {
  const answer = (content: JsonObject) => ({ 200: { description: 'Done.', content } });
  const keyed = (...keys: string[]) => ({
    description: 'No.',
    content: json(object({ 'error!': object({ 'key!': { enum: keys } }) })),
  });
  test.each<[string, Pair, string[]]>([
    [
      'a changed success status is breaking',
      responses(done, { 201: { description: 'Made.' } }),
      ['breaking response-status-removed', 'risky response-status-added'],
    ],
    [
      'a new success status is risky',
      responses(done, { ...done, 202: { description: 'Soon.' } }),
      ['risky response-status-added'],
    ],
    [
      'a new error status is risky',
      responses(done, { ...done, 409: { description: 'No.' } }),
      ['risky response-status-added'],
    ],
    [
      'a removed error status is breaking',
      responses({ ...done, 409: { description: 'No.' } }, done),
      ['breaking response-status-removed'],
    ],
    [
      'a class of statuses keeps its removed status, and its other statuses are risky',
      responses({ ...done, 409: { description: 'No.' } }, { ...done, '4XX': { description: 'No.' } }),
      ['risky response-status-added'],
    ],
    [
      'a status that replaces its class is compared with the class',
      responses(
        { ...done, '4XX': answer(json(string))[200] },
        { ...done, 404: answer(json({ type: 'integer' }))[200] },
      ),
      ['breaking response-type-widened'],
    ],
    [
      'an error key that all statuses of a class lose is breaking, and a moved one is no change',
      responses({ ...done, '4XX': keyed('a', 'b', 'c') }, { ...done, 404: keyed('a'), 409: keyed('b') }),
      ['breaking error-key-removed'],
    ],
    [
      'a new error key of a status class is risky even if a listed status lacks it',
      responses({ ...done, default: keyed('a', 'b') }, { ...done, 404: keyed('a', 'c'), default: keyed('a', 'b') }),
      ['risky error-key-added'],
    ],
    ['a removed response body is breaking', responses(answer(json(string)), done), ['breaking response-body-removed']],
    ['a new response body is additive', responses(done, answer(json(string))), ['additive response-body-added']],
    [
      'another media type of a response is breaking',
      responses(answer(json(string)), answer({ 'text/csv': { schema: string } })),
      ['breaking response-media-type-removed', 'additive response-media-type-added'],
    ],
    [
      'a new media type of a response is additive',
      responses(answer(json(string)), answer({ ...json(string), 'text/csv': { schema: string } })),
      ['additive response-media-type-added'],
    ],
    [
      'a wildcard media type that becomes one type is no change',
      responses(answer({ '*/*': {} }), answer({ 'text/csv': {} })),
      [],
    ],
    ['a removed response header is breaking', headers({ ETag: header }, {}), ['breaking response-header-removed']],
    ['a new response header is additive', headers({}, { ETag: header }), ['additive response-header-added']],
    [
      'a response header that becomes optional is breaking',
      headers({ ETag: { ...header, required: true } }, { etag: header }),
      ['breaking response-header-optional'],
    ],
    [
      'a response header that becomes required is additive',
      headers({ ETag: header }, { ETag: { ...header, required: true } }),
      ['additive response-header-required'],
    ],
    [
      'a response header with another type is breaking',
      headers({ Age: { schema: { type: 'integer' } } }, { Age: header }),
      ['breaking response-type-widened'],
    ],
    [
      'a removed link is risky',
      responses({ 200: { description: 'Done.', links: { next: { operationId: 'a' } } } }, done),
      ['risky link-removed'],
    ],
  ])('openapi-diff decides that %s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('changes of servers', () => {
  const servers = (base: JsonObject[], head: JsonObject[]): Pair => ({
    base: operationWith({}, { servers: base }),
    head: operationWith({}, { servers: head }),
  });
  const variable = (...values: string[]) => ({
    url: 'https://{region}.example.com',
    variables: { region: { default: values[0] ?? '', enum: values } },
  });
  test.each<[string, Pair, string[]]>([
    [
      'a changed server address is breaking',
      servers([{ url: 'https://a.example.com' }], [{ url: 'https://b.example.com' }]),
      ['breaking server-removed', 'additive server-added'],
    ],
    [
      'a trailing slash of a server address is no change',
      servers([{ url: 'https://a.example.com/' }], [{ url: 'https://a.example.com' }]),
      [],
    ],
    [
      'a removed value of a server variable is breaking',
      servers([variable('eu', 'us')], [variable('eu')]),
      ['breaking server-removed'],
    ],
    [
      'a new value of a server variable is additive',
      servers([variable('eu')], [variable('eu', 'us')]),
      ['additive server-added'],
    ],
    [
      'a changed default of a server variable is risky',
      servers([variable('eu', 'us')], [variable('us', 'eu')]),
      ['risky server-default-changed'],
    ],
    [
      'a renamed server variable is risky',
      servers(
        [variable('eu')],
        [{ url: 'https://{zone}.example.com', variables: { zone: { default: 'eu', enum: ['eu'] } } }],
      ),
      ['risky server-variable-renamed'],
    ],
    [
      'a server address that becomes a value of a variable is not removed',
      servers([{ url: 'https://eu.example.com' }], [variable('us', 'eu')]),
      ['additive server-added'],
    ],
    [
      'a server address that no value of a variable produces is removed',
      servers([{ url: 'https://asia.example.com' }], [variable('us', 'eu')]),
      ['breaking server-removed', 'additive server-added'],
    ],
    [
      'a server variable that is replaced by its only value is no change',
      servers([variable('eu')], [{ url: 'https://eu.example.com' }]),
      [],
    ],
    [
      'a server address of one operation affects only that operation',
      { base: operationWith({}), head: operationWith({ servers: [{ url: 'https://b.example.com' }] }) },
      ['breaking server-removed', 'additive server-added'],
    ],
  ])('openapi-diff decides that %s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('changes of security', () => {
  const securitySchemes = {
    bearer: { type: 'http', scheme: 'bearer' },
    key: { type: 'apiKey', in: 'header', name: 'X-Key' },
    oauth: {
      type: 'oauth2',
      flows: { clientCredentials: { tokenUrl: 'https://a.example.com', scopes: { r: '', w: '' } } },
    },
  };
  const security = (base: JsonObject[], head: JsonObject[]): Pair => ({
    base: operationWith({ security: base }, { components: { securitySchemes } }),
    head: operationWith({ security: head }, { components: { securitySchemes } }),
  });
  const flows = (flow: JsonObject): Pair => {
    const oauth = { type: 'oauth2', flows: { clientCredentials: flow } };
    const operation = { security: [{ oauth: ['r'] }] };
    return {
      base: operationWith(operation, { components: { securitySchemes } }),
      head: operationWith(operation, { components: { securitySchemes: { ...securitySchemes, oauth } } }),
    };
  };
  test.each<[string, Pair, string[]]>([
    ['a first security scheme is breaking', security([], [{ bearer: [] }]), ['breaking security-tightened']],
    ['a removed last security scheme is additive', security([{ bearer: [] }], []), ['additive security-relaxed']],
    ['another security scheme is breaking', security([{ bearer: [] }], [{ key: [] }]), ['breaking security-tightened']],
    [
      'an additional scheme in one requirement is breaking',
      security([{ bearer: [] }], [{ bearer: [], key: [] }]),
      ['breaking security-tightened'],
    ],
    [
      'a removed scheme in one requirement is additive',
      security([{ bearer: [], key: [] }], [{ key: [] }]),
      ['additive security-relaxed'],
    ],
    [
      'a new alternative requirement is additive',
      security([{ bearer: [] }], [{ bearer: [] }, { key: [] }]),
      ['additive security-relaxed'],
    ],
    [
      'a removed alternative requirement is breaking',
      security([{ bearer: [] }, { key: [] }], [{ bearer: [] }]),
      ['breaking security-tightened'],
    ],
    [
      'an additional scope is breaking',
      security([{ oauth: ['r'] }], [{ oauth: ['r', 'w'] }]),
      ['breaking security-tightened'],
    ],
    [
      'a removed scope requirement is additive',
      security([{ oauth: ['r', 'w'] }], [{ oauth: ['r'] }]),
      ['additive security-relaxed'],
    ],
    [
      'a new requirement of the document is breaking for all operations without their own',
      {
        base: operationWith({}, { components: { securitySchemes } }),
        head: operationWith({}, { components: { securitySchemes }, security: [{ bearer: [] }] }),
      },
      ['breaking security-tightened'],
    ],
    [
      'a changed scheme with the same name is breaking',
      {
        base: operationWith(
          { security: [{ a: [] }] },
          { components: { securitySchemes: { a: securitySchemes.bearer } } },
        ),
        head: operationWith({ security: [{ a: [] }] }, { components: { securitySchemes: { a: securitySchemes.key } } }),
      },
      ['breaking security-tightened'],
    ],
    [
      'a changed token address is breaking',
      flows({ tokenUrl: 'https://b.example.com', scopes: { r: '', w: '' } }),
      ['breaking oauth-flow-changed'],
    ],
    [
      'a removed scope of a flow is breaking',
      flows({ tokenUrl: 'https://a.example.com', scopes: { r: '' } }),
      ['breaking oauth-flow-changed'],
    ],
    [
      'a new scope of a flow is additive',
      flows({ tokenUrl: 'https://a.example.com', scopes: { r: '', w: '', x: '' } }),
      ['additive oauth-flow-added'],
    ],
    [
      'a higher grant is breaking',
      operations({ 'x-grant': 'read' }, { 'x-grant': 'write' }),
      ['breaking grant-raised'],
    ],
    ['a first grant is breaking', operations({}, { 'x-grant': 'read' }), ['breaking grant-raised']],
    [
      'an unknown grant is breaking',
      operations({ 'x-grant': 'moderate' }, { 'x-grant': 'own' }),
      ['breaking grant-raised'],
    ],
    [
      'a lower grant is additive',
      operations({ 'x-grant': 'moderate' }, { 'x-grant': 'write' }),
      ['additive grant-lowered'],
    ],
    [
      'a higher grant for a query parameter is breaking',
      operations({ 'x-grant': 'read' }, { 'x-grant': 'read', 'x-grant-by-query': { state: 'moderate' } }),
      ['breaking grant-raised'],
    ],
    [
      'a changed bucket is risky',
      operations({ 'x-bucket': 'apitoken:read' }, { 'x-bucket': 'apitoken:write' }),
      ['risky bucket-changed'],
    ],
    [
      'a lower rate limit is risky',
      operations(
        { 'x-rate-limit': { limit: 20, windowSeconds: 60 } },
        { 'x-rate-limit': { limit: 20, windowSeconds: 3600 } },
      ),
      ['risky rate-limit-lowered'],
    ],
    [
      'a first rate limit is risky',
      operations({}, { 'x-rate-limit': { limit: 20, windowSeconds: 60 } }),
      ['risky rate-limit-lowered'],
    ],
    [
      'a higher rate limit is additive',
      operations(
        { 'x-rate-limit': { limit: 20, windowSeconds: 60 } },
        { 'x-rate-limit': { limit: 30, windowSeconds: 60 } },
      ),
      ['additive rate-limit-raised'],
    ],
  ])('openapi-diff decides that %s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

const event = (schema: JsonObject, others: JsonObject = {}): JsonObject => ({
  post: { requestBody: { required: true, content: json(schema) }, responses: done, ...others },
});
const webhooks = (base: JsonObject, head: JsonObject): Pair => ({
  base: documentWith({ webhooks: base }),
  head: documentWith({ webhooks: head }),
});

describe('changes of webhooks', () => {
  const before = event(object({ 'a!': string }));
  test.each<[string, Pair, string[]]>([
    ['a removed webhook is breaking', webhooks({ a: before, b: before }, { a: before }), ['breaking webhook-removed']],
    ['a new webhook is additive', webhooks({ a: before }, { a: before, b: before }), ['additive webhook-added']],
    [
      'a new required field of a webhook is additive',
      webhooks({ a: before }, { a: event(object({ 'a!': string, 'b!': string })) }),
      ['additive response-field-added'],
    ],
    [
      'a removed field of a webhook is breaking',
      webhooks({ a: before }, { a: event(object({})) }),
      ['breaking response-field-removed'],
    ],
    [
      'a field of a webhook that becomes optional is breaking',
      webhooks({ a: before }, { a: event(object({ a: string })) }),
      ['breaking response-field-optional'],
    ],
    [
      'a webhook body that becomes optional is breaking',
      webhooks({ a: before }, { a: event({}, { requestBody: { content: json(object({ 'a!': string })) } }) }),
      ['breaking webhook-body-optional'],
    ],
    [
      'a removed webhook body is breaking, and a new one is additive',
      webhooks({ a: before, b: { post: { responses: done } } }, { a: { post: { responses: done } }, b: before }),
      ['breaking webhook-body-removed', 'additive webhook-body-added'],
    ],
    [
      'another media type of a webhook is breaking',
      webhooks({ a: before }, { a: event({}, { requestBody: { required: true, content: { 'text/csv': {} } } }) }),
      ['breaking webhook-media-type-changed', 'breaking webhook-media-type-changed'],
    ],
    [
      'a removed webhook header is breaking',
      webhooks(
        { a: event(string, { parameters: [{ name: 'webhook-id', in: 'header', required: true, schema: string }] }) },
        { a: event(string) },
      ),
      ['breaking webhook-parameter-removed'],
    ],
    [
      'a new required webhook header is additive',
      webhooks(
        { a: event(string) },
        { a: event(string, { parameters: [{ name: 'webhook-id', in: 'header', required: true, schema: string }] }) },
      ),
      ['additive webhook-parameter-added'],
    ],
    [
      'a webhook header that becomes optional is breaking',
      webhooks(
        { a: event(string, { parameters: [{ name: 'webhook-id', in: 'header', required: true, schema: string }] }) },
        { a: event(string, { parameters: [{ name: 'webhook-id', in: 'header', schema: string }] }) },
      ),
      ['breaking webhook-parameter-removed'],
    ],
    [
      'a removed response to a webhook is breaking',
      webhooks({ a: event(string, { responses: { '2XX': { description: 'Yes.' } } }) }, { a: event(string) }),
      ['breaking webhook-answer-refused'],
    ],
    [
      'a new response to a webhook is additive',
      webhooks({ a: event(string) }, { a: event(string, { responses: { ...done, 410: { description: 'Stop.' } } }) }),
      ['additive webhook-answer-added'],
    ],
    [
      'a new required field in the response to a webhook is breaking',
      webhooks(
        { a: event(string, { responses: { 200: { description: 'Yes.', content: json(object({})) } } }) },
        { a: event(string, { responses: { 200: { description: 'Yes.', content: json(object({ 'a!': string })) } } }) },
      ),
      ['breaking request-field-required'],
    ],
    [
      'a changed security of a webhook is breaking',
      webhooks({ a: event(string, { security: [{ a: [] }] }) }, { a: event(string, { security: [{ b: [] }] }) }),
      ['breaking webhook-security-changed'],
    ],
    [
      'a changed security of requests does not affect webhooks',
      {
        base: documentWith({ webhooks: { a: before } }),
        head: documentWith({
          webhooks: { a: before },
          security: [{ a: [] }],
          components: { securitySchemes: { a: { type: 'http', scheme: 'bearer' } } },
        }),
      },
      [],
    ],
    [
      'a callback is compared like a webhook',
      operations(
        { callbacks: { done: { '{$request.body#/url}': event(object({ 'a!': string })) } } },
        { callbacks: { done: { '{$request.body#/url}': event(object({ a: string, 'b!': string })) } } },
      ),
      ['breaking response-field-optional', 'additive response-field-added'],
    ],
  ])('openapi-diff decides that %s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('reports of changes', () => {
  const idea = object({ 'id!': string, 'author!': { $ref: '#/components/schemas/Author' } });
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const board = (author: JsonObject): JsonObject =>
    documentWith({
      paths: {
        '/b': {
          get: { responses: { 200: { description: 'B.', content: json({ type: 'array', items: ref('Idea') }) } } },
        },
        '/a': { get: { responses: { 200: { description: 'A.', content: json(ref('Idea')) } } } },
      },
      components: { schemas: { Idea: idea, Author: author } },
    });

  test('openapi-diff reports a change of a component once, with all its places in the order of the paths', () => {
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
          expect.objectContaining({ operation: 'GET /a', where: 'response 200', field: 'author.name' }),
          expect.objectContaining({ operation: 'GET /b', where: 'response 200', field: '[].author.name' }),
        ],
      },
    ]);
  });

  test('openapi-diff reports the same change in several places once, with a JSON pointer to each place', () => {
    const answers = (fields: JsonObject) => ({ 200: { description: 'Done.', headers: fields } });
    const api = (fields: JsonObject): JsonObject =>
      documentWith({
        paths: { '/a': { get: { responses: answers(fields) } }, '/b': { get: { responses: answers(fields) } } },
      });
    const changes = changesOf({ base: api({ ETag: header }), head: api({}) });
    expect(changes).toHaveLength(1);
    expect(changes[0]?.places.map(({ operation, base, head }) => [operation, base, head])).toEqual([
      ['GET /a', '#/paths/~1a/get/responses/200/headers/ETag', '#/paths/~1a/get/responses/200'],
      ['GET /b', '#/paths/~1b/get/responses/200/headers/ETag', '#/paths/~1b/get/responses/200'],
    ]);
  });

  test('the report of openapi-diff does not depend on the order of fields in the documents', () => {
    const reversed = (value: unknown): unknown =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries(
            Object.entries(value)
              .reverse()
              .map(([key, one]) => [key, reversed(one)]),
          )
        : value;
    const pair = {
      base: board(object({ 'name!': string, age: string })),
      head: board(object({ name: string, id: string })),
    };
    const turned = { base: reversed(pair.base) as JsonObject, head: reversed(pair.head) as JsonObject };
    expect(changesOf(pair)).toHaveLength(3);
    expect(changesOf(turned)).toEqual(changesOf(pair));
  });

  test('openapi-diff reports a change in a recursive schema once', () => {
    const tree = (fields: JsonObject) =>
      object({ child: ref('Tree'), children: { type: 'array', items: ref('Tree') }, ...fields });
    const api = (fields: JsonObject): JsonObject =>
      documentWith({
        paths: { '/a': { get: { responses: { 200: { description: 'A.', content: json(ref('Tree')) } } } } },
        components: { schemas: { Tree: tree(fields) } },
      });
    const [change, ...others] = changesOf({ base: api({ 'name!': string }), head: api({}) });
    expect(others).toEqual([]);
    expect(change?.rule).toBe('response-field-removed');
    expect(change?.places.map(({ field }) => field)).toEqual(['name']);
  });
});

test.each(grants.slice(1).map((grant, n) => [grants[n] as string, grant]))(
  'openapi-diff treats the token grant %s as lower than the grant %s',
  (lower, higher) => {
    const verdict = (was: string, is: string) => verdictOf(operations({ 'x-grant': was }, { 'x-grant': is }));
    expect(verdict(lower, higher)).toEqual(['breaking grant-raised']);
    expect(verdict(higher, lower)).toEqual(['additive grant-lowered']);
  },
);
