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

describe('of paths and operations', () => {
  test.each<[string, Pair, string[]]>([
    ['a path that is gone breaks', paths({ '/a': get, '/b': get }, { '/a': get }), ['breaking path-removed']],
    ['a new path is additive', paths({ '/a': get }, { '/a': get, '/b': get }), ['additive path-added']],
    [
      'a method that is gone breaks',
      paths({ '/a': { ...get, post: get.get } }, { '/a': get }),
      ['breaking operation-removed'],
    ],
    [
      'a method that is gone after it was deprecated breaks',
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
      'another operationId is risky',
      operations({ operationId: 'a' }, { operationId: 'b' }),
      ['risky operation-id-changed'],
    ],
    ['no operationId any more is risky', operations({ operationId: 'a' }, {}), ['risky operation-id-changed']],
    ['an operationId where there was none is nothing', operations({}, { operationId: 'a' }), []],
    [
      'a part of a path with another name is risky',
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
      'a part of a path with another type breaks',
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
      'a schema with another name is risky',
      {
        base: documentWith({ components: { schemas: { A: object({ a: string }) } } }),
        head: documentWith({ components: { schemas: { B: object({ a: string }) } } }),
      },
      ['risky schema-name-removed'],
    ],
  ])('%s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('of parameters', () => {
  test.each<[string, Pair, string[]]>([
    ['one that is gone breaks', parameters([query('a')], []), ['breaking parameter-removed']],
    ['a new optional one is additive', parameters([], [query('a')]), ['additive parameter-added']],
    ['a new required one breaks', parameters([], [query('a', { required: true })]), ['breaking parameter-required']],
    [
      'one that is now required breaks',
      parameters([query('a')], [query('a', { required: true })]),
      ['breaking parameter-required'],
    ],
    [
      'one that is now optional is additive',
      parameters([query('a', { required: true })], [query('a')]),
      ['additive parameter-optional'],
    ],
    [
      'one that is somewhere else is another one',
      parameters([query('a')], [{ ...query('a'), in: 'header' }]),
      ['breaking parameter-removed', 'additive parameter-added'],
    ],
    [
      'one that becomes required at the path breaks',
      {
        base: documentWith({ paths: { '/a': get } }),
        head: documentWith({ paths: { '/a': { ...get, parameters: [query('a', { required: true })] } } }),
      },
      ['breaking parameter-required'],
    ],
    [
      'fewer values break',
      parameters([query('a', { schema: { enum: ['x', 'y'] } })], [query('a', { schema: { enum: ['x'] } })]),
      ['breaking request-enum-value-removed'],
    ],
    [
      'another default is risky',
      parameters([query('a', { schema: { default: 20 } })], [query('a', { schema: { default: 50 } })]),
      ['risky request-default-changed'],
    ],
    [
      'a list that is written in another way breaks',
      parameters([query('a', { explode: true })], [query('a', { explode: false })]),
      ['breaking parameter-serialization-changed'],
    ],
    [
      'one that is JSON now breaks',
      parameters([query('a')], [{ name: 'a', in: 'query', content: json(string) }]),
      ['breaking parameter-serialization-changed'],
    ],
    [
      'one that may no longer have reserved characters breaks, and one that may is nothing',
      parameters([query('a', { allowReserved: true }), query('b')], [query('a'), query('b', { allowReserved: true })]),
      ['breaking parameter-serialization-changed'],
    ],
    [
      'a deprecated one is additive',
      parameters([query('a')], [query('a', { deprecated: true })]),
      ['additive deprecated'],
    ],
  ])('%s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('of bodies', () => {
  const bodies = (base: JsonObject | undefined, head: JsonObject | undefined): Pair =>
    operations(base ? { requestBody: base } : {}, head ? { requestBody: head } : {});
  const body = { content: json(string) };
  test.each<[string, Pair, string[]]>([
    ['a new required one breaks', bodies(undefined, { ...body, required: true }), ['breaking request-body-required']],
    ['a new optional one is additive', bodies(undefined, body), ['additive request-body-added']],
    ['one that is now required breaks', bodies(body, { ...body, required: true }), ['breaking request-body-required']],
    [
      'one that is now optional is additive',
      bodies({ ...body, required: true }, body),
      ['additive request-body-optional'],
    ],
    ['one that is no longer taken breaks', bodies(body, undefined), ['breaking request-body-removed']],
    [
      'another media type breaks',
      bodies(body, { content: { 'text/csv': { schema: string } } }),
      ['breaking request-media-type-removed', 'additive request-media-type-added'],
    ],
    ['a media type that is now any is nothing', bodies(body, { content: { '*/*': { schema: string } } }), []],
    [
      'a range of media types that is now one breaks',
      bodies({ content: { 'image/*': {} } }, { content: { 'image/png': {} } }),
      ['breaking request-media-type-removed', 'additive request-media-type-added'],
    ],
    [
      'parts in another encoding are risky',
      bodies(
        { content: { 'multipart/form-data': { encoding: { a: { contentType: 'text/plain' } } } } },
        { content: { 'multipart/form-data': { encoding: { a: { contentType: 'text/csv' } } } } },
      ),
      ['risky encoding-changed'],
    ],
  ])('%s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('of answers', () => {
  const answer = (content: JsonObject) => ({ 200: { description: 'Done.', content } });
  const keyed = (...keys: string[]) => ({
    description: 'No.',
    content: json(object({ 'error!': object({ 'key!': { enum: keys } }) })),
  });
  test.each<[string, Pair, string[]]>([
    [
      'another success breaks',
      responses(done, { 201: { description: 'Made.' } }),
      ['breaking response-status-removed', 'risky response-status-added'],
    ],
    [
      'one more success is risky',
      responses(done, { ...done, 202: { description: 'Soon.' } }),
      ['risky response-status-added'],
    ],
    [
      'a new error is risky',
      responses(done, { ...done, 409: { description: 'No.' } }),
      ['risky response-status-added'],
    ],
    [
      'an error that is gone breaks',
      responses({ ...done, 409: { description: 'No.' } }, done),
      ['breaking response-status-removed'],
    ],
    [
      'an error that is now one of its class is kept, and what else the class has is risky',
      responses({ ...done, 409: { description: 'No.' } }, { ...done, '4XX': { description: 'No.' } }),
      ['risky response-status-added'],
    ],
    [
      'what is left of a class is judged by what the class had',
      responses(
        { ...done, '4XX': answer(json(string))[200] },
        { ...done, 404: answer(json({ type: 'integer' }))[200] },
      ),
      ['breaking response-type-widened'],
    ],
    [
      'an error key that is with none of the statuses of a class any more breaks, and one that is with another is there',
      responses({ ...done, '4XX': keyed('a', 'b', 'c') }, { ...done, 404: keyed('a'), 409: keyed('b') }),
      ['breaking error-key-removed'],
    ],
    [
      'an error key that a status of its own never has is still one of those that have none',
      responses({ ...done, default: keyed('a', 'b') }, { ...done, 404: keyed('a', 'c'), default: keyed('a', 'b') }),
      ['risky error-key-added'],
    ],
    ['a body that is gone breaks', responses(answer(json(string)), done), ['breaking response-body-removed']],
    ['a new body is additive', responses(done, answer(json(string))), ['additive response-body-added']],
    [
      'another media type breaks',
      responses(answer(json(string)), answer({ 'text/csv': { schema: string } })),
      ['breaking response-media-type-removed', 'additive response-media-type-added'],
    ],
    [
      'one more media type is additive',
      responses(answer(json(string)), answer({ ...json(string), 'text/csv': { schema: string } })),
      ['additive response-media-type-added'],
    ],
    ['any media type that is now one is nothing', responses(answer({ '*/*': {} }), answer({ 'text/csv': {} })), []],
    ['a header that is gone breaks', headers({ ETag: header }, {}), ['breaking response-header-removed']],
    ['a new header is additive', headers({}, { ETag: header }), ['additive response-header-added']],
    [
      'a header that is not always sent any more breaks',
      headers({ ETag: { ...header, required: true } }, { etag: header }),
      ['breaking response-header-optional'],
    ],
    [
      'a header that is now always sent is additive',
      headers({ ETag: header }, { ETag: { ...header, required: true } }),
      ['additive response-header-required'],
    ],
    [
      'a header of another type breaks',
      headers({ Age: { schema: { type: 'integer' } } }, { Age: header }),
      ['breaking response-type-widened'],
    ],
    [
      'a link that is gone is risky',
      responses({ 200: { description: 'Done.', links: { next: { operationId: 'a' } } } }, done),
      ['risky link-removed'],
    ],
  ])('%s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('of servers', () => {
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
      'another address breaks',
      servers([{ url: 'https://a.example.com' }], [{ url: 'https://b.example.com' }]),
      ['breaking server-removed', 'additive server-added'],
    ],
    [
      'a slash at the end is nothing',
      servers([{ url: 'https://a.example.com/' }], [{ url: 'https://a.example.com' }]),
      [],
    ],
    [
      'fewer values of a variable break',
      servers([variable('eu', 'us')], [variable('eu')]),
      ['breaking server-removed'],
    ],
    [
      'more values of a variable are additive',
      servers([variable('eu')], [variable('eu', 'us')]),
      ['additive server-added'],
    ],
    [
      'another default of a variable is risky',
      servers([variable('eu', 'us')], [variable('us', 'eu')]),
      ['risky server-default-changed'],
    ],
    [
      'a variable of another name is risky',
      servers(
        [variable('eu')],
        [{ url: 'https://{zone}.example.com', variables: { zone: { default: 'eu', enum: ['eu'] } } }],
      ),
      ['risky server-variable-renamed'],
    ],
    [
      'an address that is now a value of a variable is still there',
      servers([{ url: 'https://eu.example.com' }], [variable('us', 'eu')]),
      ['additive server-added'],
    ],
    [
      'an address that no value of a variable makes is gone',
      servers([{ url: 'https://asia.example.com' }], [variable('us', 'eu')]),
      ['breaking server-removed', 'additive server-added'],
    ],
    [
      'a variable of which only its value is left is nothing',
      servers([variable('eu')], [{ url: 'https://eu.example.com' }]),
      [],
    ],
    [
      'an address of one operation is judged for that operation',
      { base: operationWith({}), head: operationWith({ servers: [{ url: 'https://b.example.com' }] }) },
      ['breaking server-removed', 'additive server-added'],
    ],
  ])('%s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('of what lets a client in', () => {
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
    ['a scheme where there was none breaks', security([], [{ bearer: [] }]), ['breaking security-tightened']],
    ['no scheme any more is additive', security([{ bearer: [] }], []), ['additive security-relaxed']],
    ['another scheme breaks', security([{ bearer: [] }], [{ key: [] }]), ['breaking security-tightened']],
    [
      'one more scheme at once breaks',
      security([{ bearer: [] }], [{ bearer: [], key: [] }]),
      ['breaking security-tightened'],
    ],
    [
      'one scheme less at once is additive',
      security([{ bearer: [], key: [] }], [{ key: [] }]),
      ['additive security-relaxed'],
    ],
    [
      'one more alternative is additive',
      security([{ bearer: [] }], [{ bearer: [] }, { key: [] }]),
      ['additive security-relaxed'],
    ],
    [
      'an alternative that is gone breaks',
      security([{ bearer: [] }, { key: [] }], [{ bearer: [] }]),
      ['breaking security-tightened'],
    ],
    ['one more scope breaks', security([{ oauth: ['r'] }], [{ oauth: ['r', 'w'] }]), ['breaking security-tightened']],
    [
      'one scope less is additive',
      security([{ oauth: ['r', 'w'] }], [{ oauth: ['r'] }]),
      ['additive security-relaxed'],
    ],
    [
      'a requirement of the whole document breaks every operation that has none of its own',
      {
        base: operationWith({}, { components: { securitySchemes } }),
        head: operationWith({}, { components: { securitySchemes }, security: [{ bearer: [] }] }),
      },
      ['breaking security-tightened'],
    ],
    [
      'a scheme of the same name that is another breaks',
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
      'another address for tokens breaks',
      flows({ tokenUrl: 'https://b.example.com', scopes: { r: '', w: '' } }),
      ['breaking oauth-flow-changed'],
    ],
    [
      'a scope that is gone breaks',
      flows({ tokenUrl: 'https://a.example.com', scopes: { r: '' } }),
      ['breaking oauth-flow-changed'],
    ],
    [
      'a new scope is additive',
      flows({ tokenUrl: 'https://a.example.com', scopes: { r: '', w: '', x: '' } }),
      ['additive oauth-flow-added'],
    ],
    ['a higher grant breaks', operations({ 'x-grant': 'read' }, { 'x-grant': 'write' }), ['breaking grant-raised']],
    ['a grant where none was needed breaks', operations({}, { 'x-grant': 'read' }), ['breaking grant-raised']],
    [
      'a grant that nobody knows breaks',
      operations({ 'x-grant': 'moderate' }, { 'x-grant': 'own' }),
      ['breaking grant-raised'],
    ],
    [
      'a lower grant is additive',
      operations({ 'x-grant': 'moderate' }, { 'x-grant': 'write' }),
      ['additive grant-lowered'],
    ],
    [
      'a higher grant for a query parameter breaks',
      operations({ 'x-grant': 'read' }, { 'x-grant': 'read', 'x-grant-by-query': { state: 'moderate' } }),
      ['breaking grant-raised'],
    ],
    [
      'another bucket is risky',
      operations({ 'x-bucket': 'apitoken:read' }, { 'x-bucket': 'apitoken:write' }),
      ['risky bucket-changed'],
    ],
    [
      'a lower limit is risky',
      operations(
        { 'x-rate-limit': { limit: 20, windowSeconds: 60 } },
        { 'x-rate-limit': { limit: 20, windowSeconds: 3600 } },
      ),
      ['risky rate-limit-lowered'],
    ],
    [
      'a limit where none was is risky',
      operations({}, { 'x-rate-limit': { limit: 20, windowSeconds: 60 } }),
      ['risky rate-limit-lowered'],
    ],
    [
      'a higher limit is additive',
      operations(
        { 'x-rate-limit': { limit: 20, windowSeconds: 60 } },
        { 'x-rate-limit': { limit: 30, windowSeconds: 60 } },
      ),
      ['additive rate-limit-raised'],
    ],
  ])('%s', (_, pair, verdict) => {
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

describe('of a webhook, which a client receives', () => {
  const before = event(object({ 'a!': string }));
  test.each<[string, Pair, string[]]>([
    ['one that is gone breaks', webhooks({ a: before, b: before }, { a: before }), ['breaking webhook-removed']],
    ['a new one is additive', webhooks({ a: before }, { a: before, b: before }), ['additive webhook-added']],
    [
      'a new required field is additive',
      webhooks({ a: before }, { a: event(object({ 'a!': string, 'b!': string })) }),
      ['additive response-field-added'],
    ],
    [
      'a field that is gone breaks',
      webhooks({ a: before }, { a: event(object({})) }),
      ['breaking response-field-removed'],
    ],
    [
      'a field that is now optional breaks',
      webhooks({ a: before }, { a: event(object({ a: string })) }),
      ['breaking response-field-optional'],
    ],
    [
      'a body that is not always there any more breaks',
      webhooks({ a: before }, { a: event({}, { requestBody: { content: json(object({ 'a!': string })) } }) }),
      ['breaking webhook-body-optional'],
    ],
    [
      'a body that is gone breaks, and a new one is additive',
      webhooks({ a: before, b: { post: { responses: done } } }, { a: { post: { responses: done } }, b: before }),
      ['breaking webhook-body-removed', 'additive webhook-body-added'],
    ],
    [
      'another media type breaks',
      webhooks({ a: before }, { a: event({}, { requestBody: { required: true, content: { 'text/csv': {} } } }) }),
      ['breaking webhook-media-type-changed', 'breaking webhook-media-type-changed'],
    ],
    [
      'a header that is gone breaks',
      webhooks(
        { a: event(string, { parameters: [{ name: 'webhook-id', in: 'header', required: true, schema: string }] }) },
        { a: event(string) },
      ),
      ['breaking webhook-parameter-removed'],
    ],
    [
      'a new required header is additive',
      webhooks(
        { a: event(string) },
        { a: event(string, { parameters: [{ name: 'webhook-id', in: 'header', required: true, schema: string }] }) },
      ),
      ['additive webhook-parameter-added'],
    ],
    [
      'a header that is not always there any more breaks',
      webhooks(
        { a: event(string, { parameters: [{ name: 'webhook-id', in: 'header', required: true, schema: string }] }) },
        { a: event(string, { parameters: [{ name: 'webhook-id', in: 'header', schema: string }] }) },
      ),
      ['breaking webhook-parameter-removed'],
    ],
    [
      'an answer that is no longer taken breaks',
      webhooks({ a: event(string, { responses: { '2XX': { description: 'Yes.' } } }) }, { a: event(string) }),
      ['breaking webhook-answer-refused'],
    ],
    [
      'one more answer that is taken is additive',
      webhooks({ a: event(string) }, { a: event(string, { responses: { ...done, 410: { description: 'Stop.' } } }) }),
      ['additive webhook-answer-added'],
    ],
    [
      'a field that its answer must have is what a client sends, and breaks',
      webhooks(
        { a: event(string, { responses: { 200: { description: 'Yes.', content: json(object({})) } } }) },
        { a: event(string, { responses: { 200: { description: 'Yes.', content: json(object({ 'a!': string })) } } }) },
      ),
      ['breaking request-field-required'],
    ],
    [
      'another way to prove where it comes from breaks',
      webhooks({ a: event(string, { security: [{ a: [] }] }) }, { a: event(string, { security: [{ b: [] }] }) }),
      ['breaking webhook-security-changed'],
    ],
    [
      'the security of requests says nothing of it',
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
      'a callback is one',
      operations(
        { callbacks: { done: { '{$request.body#/url}': event(object({ 'a!': string })) } } },
        { callbacks: { done: { '{$request.body#/url}': event(object({ a: string, 'b!': string })) } } },
      ),
      ['breaking response-field-optional', 'additive response-field-added'],
    ],
  ])('%s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});

describe('a change', () => {
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

  test('of a component is told of once, with every place where it shows, in the order of the paths', () => {
    const changes = changesOf({ base: board(object({ 'name!': string })), head: board(object({ name: string })) });
    expect(changes).toEqual([
      {
        level: 'breaking',
        rule: 'response-field-optional',
        message: '`name` may be missing, and was always there.',
        action: 'Do without it where it is missing.',
        base: '#/components/schemas/Author/properties/name',
        head: '#/components/schemas/Author/properties/name',
        places: [
          expect.objectContaining({ operation: 'GET /a', where: 'response 200', field: 'author.name' }),
          expect.objectContaining({ operation: 'GET /b', where: 'response 200', field: '[].author.name' }),
        ],
      },
    ]);
  });

  test('of what stands in many places is told of once, with a pointer to each', () => {
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

  test('comes in the same order and the same words, however the documents are ordered', () => {
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

  test('within a schema that contains itself is found, and found in the end', () => {
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
  'the grant %s of the contract is lower than %s',
  (lower, higher) => {
    const verdict = (was: string, is: string) => verdictOf(operations({ 'x-grant': was }, { 'x-grant': is }));
    expect(verdict(lower, higher)).toEqual(['breaking grant-raised']);
    expect(verdict(higher, lower)).toEqual(['additive grant-lowered']);
  },
);
