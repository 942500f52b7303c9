import { expect, test } from 'vitest';
import { compareDocuments, formats, judgeByUsage, parseDocument, parseUsage } from '../../scripts/openapi-diff/main.ts';
import { documentWith, done, type JsonObject, json, object, string } from './openapi-pair.ts';

const query = (name: string, schema: JsonObject = string) => ({ name, in: 'query', schema });
const body = (fields: JsonObject) => ({
  requestBody: { content: json(object(fields, { additionalProperties: false })) },
});
/** The fields of the request body of POST /things. */
const fields = { name: string, color: string, size: object({ cm: string }) };

const base = documentWith({
  paths: {
    '/things': {
      get: { parameters: [query('q'), query('sort'), query('page')], responses: done },
      post: { ...body(fields), responses: done },
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

type Paths = Record<string, Record<string, JsonObject>>;
type Edit = (paths: Paths, document: JsonObject) => void;

/** Returns a function that replaces members of an operation, such as its parameters. */
const replace = (path: string, method: string, members: JsonObject): Edit => {
  return paths => Object.assign(paths[path]?.[method] ?? {}, members);
};
const remove = (path: string, method: string): Edit => {
  return paths => delete paths[path]?.[method];
};

/**
 * Compares the base document with an edited copy. Then uses a usage document, the record of the operations and fields
 * that each client uses, to find out which clients the changes affect.
 */
function judge(edits: Edit[], given: object = usage) {
  const head = structuredClone(base);
  for (const edit of edits) edit(head.paths as Paths, head);
  const difference = compareDocuments(
    parseDocument('old', JSON.stringify(base)),
    parseDocument('new', JSON.stringify(head)),
  );
  return judgeByUsage(difference, parseUsage('usage.json', JSON.stringify(given)));
}

/**
 * Returns the clients that each change affects, keyed by the rule of the change. The value is undefined if the usage
 * document cannot judge the change.
 */
const clientsOf = (edit: Edit, given?: object) =>
  Object.fromEntries(judge([edit], given).changes.map(({ rule, affected }) => [rule, affected?.clients]));

test('openapi-diff with a usage document names the clients of a removed operation, and does not call the removal of an unused operation breaking', () => {
  const difference = judge([remove('/things', 'get'), remove('/things/{id}', 'delete')]);
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
  const parameters = (...names: string[]) => replace('/things', 'get', { parameters: names.map(name => query(name)) });
  expect(clientsOf(parameters('sort', 'page'))).toEqual({ 'parameter-removed': ['Search'] });
  expect(clientsOf(parameters('q', 'page'))).toEqual({ 'parameter-removed': [] });
  const { color, size, ...others } = fields;
  const fieldsAfter = (changed: JsonObject) => replace('/things', 'post', body({ ...others, ...changed }));
  expect(clientsOf(fieldsAfter({ size }))).toEqual({ 'request-field-removed': [] });
  expect(clientsOf(fieldsAfter({ color }))).toEqual({ 'request-field-removed': ['Import'] });
  const narrow = fieldsAfter({ color, size: object({ cm: { ...string, maxLength: 9 } }) });
  expect(clientsOf(narrow)).toEqual({ 'request-bound-narrowed': ['Import'] });
  const outer = { uses: [use('Sync', 'POST /things', '2026-11-21', { fields: ['size'] })] };
  expect(clientsOf(narrow, outer)).toEqual({ 'request-bound-narrowed': ['Sync'] });
});

test('openapi-diff assumes that a newly required parameter or field, or a changed response, concerns every client of the operation in the usage document', () => {
  const sort = { ...query('sort'), required: true };
  const newlyRequired = replace('/things', 'get', { parameters: [query('q'), query('page'), sort] });
  expect(clientsOf(newlyRequired)).toEqual({ 'parameter-required': ['Sync', 'Search'] });
  const { color, ...others } = fields;
  const requiredField = replace('/things', 'post', body({ ...others, 'color!': color }));
  expect(clientsOf(requiredField)).toEqual({ 'request-field-required': ['Import'] });
  const withoutError = replace('/things/{id}', 'get', { responses: done });
  expect(clientsOf(withoutError)).toEqual({ 'response-status-removed': ['Sync'] });
});

test('openapi-diff counts a change as breaking if the usage document does not show whether a client is affected, for example a webhook change', () => {
  const webhook = judge([(_, document) => delete document.webhooks]);
  expect(webhook).toMatchObject({ counts: { breaking: 1 }, unused: 0 });
  expect(webhook.changes[0]).not.toHaveProperty('affected');
  const removal = [remove('/things/{id}', 'delete')];
  expect(judge(removal)).toMatchObject({ counts: { breaking: 0 }, unused: 1 });
  expect(judge(removal, { ...usage, is_complete: false })).toMatchObject({ counts: { breaking: 1 }, unused: 0 });
  const unnamed = { uses: [use('Sync', 'GET /things', '2026-11-21')] };
  const withoutSort = replace('/things', 'get', { parameters: [query('q'), query('page')] });
  expect(clientsOf(withoutSort, unnamed)).toEqual({ 'parameter-removed': ['Sync'] });
});

test('each output format of openapi-diff shows the clients of a change, and ends with the changes that affect no client', () => {
  const difference = judge([remove('/things', 'post'), remove('/things/{id}', 'delete')]);
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
