import { expect, test } from 'vitest';
import { compareDocuments, formats, judgeByUsage, parseDocument, parseUsage } from '../../scripts/openapi-diff/main.ts';
import { documentWith, type JsonObject } from './openapi-pair.ts';

const string = { type: 'string' };
const query = (name: string, schema: JsonObject = string) => ({ name, in: 'query', schema });
const body = (properties: JsonObject, required: string[] = []) => ({
  requestBody: {
    content: { 'application/json': { schema: { type: 'object', properties, required, additionalProperties: false } } },
  },
});
const done = { 200: { description: 'Done.' } };

const base = documentWith({
  paths: {
    '/things': {
      get: { parameters: [query('q'), query('sort'), query('page')], responses: done },
      post: {
        ...body({ name: string, color: string, size: { type: 'object', properties: { cm: string } } }),
        responses: done,
      },
    },
    '/things/{id}': { get: { responses: { ...done, 404: { description: 'Missing.' } } }, delete: { responses: done } },
  },
  webhooks: { made: { post: { responses: done } } },
});

const usage = {
  from: '2026-08-25T00:00:00Z',
  uses: [
    use('Search', 'GET /things', '2026-11-20', { parameters: ['q'], fields: [] }),
    use('Sync', 'GET /things', '2026-11-21', { parameters: ['page'], fields: [] }),
    use('Sync', 'GET /things/{thingId}', '2026-11-22', { parameters: [], fields: [] }),
    use('Import', 'POST /things', '2026-11-19', { parameters: [], fields: ['name', 'size.cm'] }),
  ],
};

function use(client: string, operation: string, day: string, names: { parameters?: string[]; fields?: string[] } = {}) {
  return { client, operation, last_used_at: `${day}T10:00:00+02:00`, ...names };
}

/**
 * Compares the base document with a changed copy. Then uses a usage document, the record of the operations and fields
 * that each client uses, to find out which clients the changes affect.
 */
function judge(
  change: (paths: Record<string, Record<string, JsonObject>>, document: JsonObject) => void,
  given: object = usage,
) {
  const head = structuredClone(base);
  change(head.paths as never, head);
  const documents = [base, head].map((one, n) => parseDocument(n === 0 ? 'old' : 'new', JSON.stringify(one)));
  const [old, changed] = documents as [(typeof documents)[0], (typeof documents)[0]];
  return judgeByUsage(compareDocuments(old, changed), parseUsage('usage.json', JSON.stringify(given)));
}

/**
 * Returns the clients that each change affects, keyed by the rule of the change. The value is undefined if the usage
 * document cannot judge the change.
 */
const clientsOf = (...given: Parameters<typeof judge>) =>
  Object.fromEntries(judge(...given).changes.map(({ rule, affected }) => [rule, affected?.clients]));

test('openapi-diff with a usage document names the clients of a removed operation, and does not call the removal of an unused operation breaking', () => {
  const difference = judge(paths => {
    delete paths['/things']?.get;
    delete paths['/things/{id}']?.delete;
  });
  expect(difference).toMatchObject({ counts: { breaking: 1 }, unused: 1 });
  expect(difference.changes).toMatchObject([
    {
      rule: 'operation-removed',
      places: [{ operation: 'GET /things', clients: 2 }],
      affected: {
        clients: ['Sync', 'Search'],
        lastUsedAt: '2026-11-21T08:00:00.000Z',
        since: '2026-08-25T00:00:00.000Z',
      },
    },
    {
      rule: 'operation-removed',
      places: [{ operation: 'DELETE /things/{id}', clients: 0 }],
      affected: { clients: [] },
    },
  ]);
});

test('openapi-diff with a usage document names only the clients that have sent the changed parameter or body field', () => {
  const without = (name: string) => (paths: Record<string, Record<string, JsonObject>>) => {
    const operation = paths['/things']?.get as { parameters: { name: string }[] };
    operation.parameters = operation.parameters.filter(one => one.name !== name);
  };
  expect(clientsOf(without('q'))).toEqual({ 'parameter-removed': ['Search'] });
  expect(clientsOf(without('sort'))).toEqual({ 'parameter-removed': [] });
  const fields = (properties: JsonObject) => (paths: Record<string, Record<string, JsonObject>>) =>
    Object.assign(paths['/things']?.post ?? {}, body(properties));
  const size = { type: 'object', properties: { cm: string } };
  expect(clientsOf(fields({ name: string, size }))).toEqual({ 'request-field-removed': [] });
  expect(clientsOf(fields({ name: string, color: string }))).toEqual({ 'request-field-removed': ['Import'] });
  const narrow = { ...size, properties: { cm: { ...string, maxLength: 9 } } };
  expect(clientsOf(fields({ name: string, color: string, size: narrow }))).toEqual({
    'request-bound-narrowed': ['Import'],
  });
  const outer = { uses: [use('Sync', 'POST /things', '2026-11-21', { fields: ['size'] })] };
  expect(clientsOf(fields({ name: string, color: string, size: narrow }), outer)).toEqual({
    'request-bound-narrowed': ['Sync'],
  });
});

test('openapi-diff assumes that a newly required parameter or field, or a changed response, concerns every client of the operation in the usage document', () => {
  expect(
    clientsOf(paths => {
      Object.assign(paths['/things']?.get ?? {}, {
        parameters: [query('q'), query('page'), { ...query('sort'), required: true }],
      });
    }),
  ).toEqual({ 'parameter-required': ['Sync', 'Search'] });
  expect(
    clientsOf(paths => {
      const operation = paths['/things']?.post as {
        requestBody: { content: { 'application/json': { schema: JsonObject } } };
      };
      operation.requestBody.content['application/json'].schema.required = ['color'];
    }),
  ).toEqual({ 'request-field-required': ['Import'] });
  expect(
    clientsOf(paths => {
      Object.assign(paths['/things/{id}']?.get ?? {}, { responses: done });
    }),
  ).toEqual({ 'response-status-removed': ['Sync'] });
});

test('openapi-diff counts a change as breaking if the usage document does not show whether a client is affected, for example a webhook change', () => {
  const removal = (paths: Record<string, Record<string, JsonObject>>) => delete paths['/things/{id}']?.delete;
  const webhook = judge((_, document) => delete document.webhooks);
  expect(webhook).toMatchObject({ counts: { breaking: 1 }, unused: 0 });
  expect(webhook.changes[0]).not.toHaveProperty('affected');
  expect(judge(removal)).toMatchObject({ counts: { breaking: 0 }, unused: 1 });
  expect(judge(removal, { ...usage, is_complete: false })).toMatchObject({ counts: { breaking: 1 }, unused: 0 });
  const unnamed = { uses: [use('Sync', 'GET /things', '2026-11-21')] };
  expect(
    clientsOf(
      paths => Object.assign(paths['/things']?.get ?? {}, { parameters: [query('q'), query('page')] }),
      unnamed,
    ),
  ).toEqual({ 'parameter-removed': ['Sync'] });
});

test('each output format of openapi-diff shows the clients of a change, and ends with the changes that affect no client', () => {
  const difference = judge(paths => {
    delete paths['/things']?.post;
    delete paths['/things/{id}']?.delete;
  });
  const head = { name: 'new', text: '{}', file: undefined };
  const used = 'Used by `Import`, last on 2026-11-19.';
  const unused = 'No client has used this since 2026-08-25.';
  expect(formats.text(difference)).toBe(`old -> new
1 breaking, 1 unused

breaking  operation-removed
  POST /things is gone. Stop calling the method. ${used}
  - POST /things (1 client)
  base #/paths/~1things/post
  head #/paths/~1things

unused    operation-removed
  DELETE /things/{id} is gone. Stop calling the method. ${unused}
  - DELETE /things/{id} (0 clients)
  base #/paths/~1things~1{id}/delete
  head #/paths/~1things~1{id}
`);
  const markdown = formats.markdown(difference);
  expect(markdown).toMatch(
    /### 🛑 Breaking\n\n- \*\*operation-removed\*\*: POST .* Used by `Import`, last on 2026-11-19\.\n/,
  );
  expect(markdown).toMatch(
    /💤 Unused \(1\)<\/summary>\n\n- \*\*operation-removed\*\*: DELETE [^\n]* since 2026-08-25\.\n/,
  );
  expect(formats.github(difference, head)).toContain(`::notice title=unused%3A operation-removed::DELETE`);
  const junit = formats.junit(difference);
  expect(junit).toContain('<testsuites tests="2" failures="1" skipped="1">');
  expect(junit).toContain(`<skipped message="${unused}"/>`);
  expect(JSON.parse(formats.json(difference))).toMatchObject({
    unused: 1,
    changes: [{ affected: { clients: ['Import'] } }, {}],
  });
});

test.each([
  ['[]', 'usage.json is not a usage document: it has no list "uses"'],
  [JSON.stringify({ uses: [{ client: 'Sync' }] }), 'usage.json: use 1 lacks "operation"'],
  [
    JSON.stringify({ uses: [use('Sync', 'listThings', '2026-11-21')] }),
    'usage.json: use 1: the operation "listThings" is not a method and a path',
  ],
  [
    JSON.stringify({ uses: [use('Sync', 'GET /things', 'soon')] }),
    'usage.json: use 1: "soonT10:00:00+02:00" is not a time',
  ],
  [
    JSON.stringify({ uses: [{ ...use('Sync', 'GET /things', '2026-11-21'), fields: 'all' }] }),
    'usage.json: use 1: "fields" is not a list of names',
  ],
])('openapi-diff refuses the usage document %s with a message that names the problem', (text, message) => {
  expect(() => parseUsage('usage.json', text)).toThrow(message);
});
