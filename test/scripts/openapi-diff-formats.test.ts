import { expect, test } from 'vitest';
import { linesOf } from '../../scripts/openapi-diff/formats/format-github.ts';
import { compareDocuments, formats, isRaisedBy, parseDocument, requiredBump } from '../../scripts/openapi-diff/main.ts';
import { documentWith, type JsonObject, object, received } from './openapi-pair.ts';

const string = { type: 'string' };
const pair = received(object({ 'a!': string, b: { enum: ['x'] } }), object({ b: { enum: ['x', 'y'] }, c: string }));
const headText = JSON.stringify(pair.head, null, 2);
const difference = compare(pair.base, pair.head);
const at = '#/paths/~1things/post/responses/200/content/application~1json/schema';

function compare(base: JsonObject, head: JsonObject) {
  return compareDocuments(
    parseDocument('old.json', JSON.stringify(base)),
    parseDocument('new.json', JSON.stringify(head)),
  );
}

test('the text format of openapi-diff shows each change with advice, places and JSON pointers', () => {
  expect(formats.text(difference)).toBe(`old.json -> new.json
1 breaking, 1 risky, 1 additive

breaking  response-field-removed
  \`a\` is gone. Stop reading the field.
  - POST /things: response 200, a
  base ${at}/properties/a
  head ${at}

risky     response-enum-value-added
  \`b\` may be \`"y"\`. Handle the new value, and unknown values.
  - POST /things: response 200, b
  base ${at}/properties/b
  head ${at}/properties/b

additive  response-field-added
  \`c\` is new.
  - POST /things: response 200, c
  base ${at}
  head ${at}/properties/c
`);
});

test('if only descriptions differ, the text format of openapi-diff says that clients can see no change, and counts the changed descriptions', () => {
  const described = documentWith({ info: { title: 'Other', version: '1.0.0' }, tags: [{ name: 'a' }] });
  expect(formats.text(compare(documentWith({}), documentWith({})))).toBe(
    'old.json -> new.json\nNo change that a client can see\n',
  );
  expect(formats.text(compare(documentWith({}), described))).toBe(
    'old.json -> new.json\nNo change that a client can see; 2 descriptions or examples differ\n',
  );
});

test('the JSON format of openapi-diff contains the number of changes of each level, and each change with its JSON pointers', () => {
  const parsed = JSON.parse(formats.json(difference));
  expect(parsed).toMatchObject({ base: 'old.json', head: 'new.json', descriptions: 0 });
  expect(parsed.counts).toEqual({ breaking: 1, risky: 1, additive: 1 });
  expect(parsed.changes[0]).toEqual({
    level: 'breaking',
    rule: 'response-field-removed',
    message: '`a` is gone.',
    action: 'Stop reading the field.',
    base: `${at}/properties/a`,
    head: at,
    places: [{ operation: 'POST /things', where: 'response 200', field: 'a', base: `${at}/properties/a`, head: at }],
  });
});

test('the Markdown format of openapi-diff shows breaking changes first, and shows additive changes in a collapsed section', () => {
  const text = formats.markdown(difference);
  expect(text).toMatch(
    /^<!-- openapi-diff -->\n## API changes\n\n1 breaking, 1 risky, 1 additive: `old.json` → `new.json`\n/,
  );
  expect(text).toMatch(/### 🛑 Breaking\n.*### ⚠️ Risky\n.*<details><summary>✅ Additive \(1\)<\/summary>/s);
  expect(text).toContain(
    '- **response-field-removed**: `a` is gone. Stop reading the field.\n  - `POST /things: response 200, a`\n',
  );
});

test('the Markdown format of openapi-diff escapes names from the OpenAPI documents', () => {
  const name = '`</details>[x](https://example.com)\n@all';
  const text = formats.markdown(compare(documentWith({ paths: { [`/${name}`]: { get: {} } } }), documentWith({})));
  expect(text).toContain('``');
  expect(text.replace(/(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, '')).not.toMatch(/<\/details>|\[x\]|@all/);
});

test('if the Markdown output of openapi-diff is too long for a GitHub comment, openapi-diff cuts the output between two changes', () => {
  const fields = Object.fromEntries(
    Array.from({ length: 900 }, (_, n) => [`a_field_with_a_rather_long_name_${n}`, string]),
  );
  const { base, head } = received(object(fields), object({}));
  const text = formats.markdown(compare(base, head));
  expect(text.length).toBeLessThan(65_536);
  expect(text).toMatch(/<\/sub>\n\n_Shortened: the rest is in the log\._\n$/);
});

test('the GitHub format of openapi-diff has an annotation for each change, at its line in the new document', () => {
  const text = formats.github(difference, { name: 'new.json', text: headText, file: 'new.json' });
  const lines = headText.split('\n');
  const lineNumber = (part: string) => lines.findIndex(line => line.includes(part)) + 1;
  expect(text.split('\n')).toEqual([
    `::error file=new.json,line=${lineNumber('"schema"')},title=breaking%3A response-field-removed::\`a\` is gone. Stop reading the field.%0A- POST /things: response 200, a`,
    `::warning file=new.json,line=${lineNumber('"b"')},title=risky%3A response-enum-value-added::\`b\` may be \`"y"\`. Handle the new value, and unknown values.%0A- POST /things: response 200, b`,
    `::notice file=new.json,line=${lineNumber('"c"')},title=additive%3A response-field-added::\`c\` is new.%0A- POST /things: response 200, c`,
    '1 breaking, 1 risky, 1 additive',
    '',
  ]);
});

test('the GitHub format of openapi-diff annotates a document from a URL without line numbers, and escapes names', () => {
  const { base, head } = received(object({ '100%\n::error::': string }), object({}));
  const text = formats.github(compare(base, head), { name: 'https://example.com', text: '', file: undefined });
  expect(text.split('\n')).toHaveLength(3);
  expect(text).toMatch(/^::error title=breaking%3A response-field-removed::`100%25 ::error::` is gone\./);
});

test('the JUnit format of openapi-diff reports a breaking change as a failed test, and other changes as passed tests', () => {
  const text = formats.junit(difference);
  expect(text).toContain('<testsuites tests="3" failures="1" skipped="0">');
  expect(text).toMatch(/<testcase classname="breaking\.response-field-removed"[^>]*><failure message="`a` is gone\./);
  expect(text.match(/<system-out>/g)).toHaveLength(2);
  expect(formats.junit(compare(documentWith({}), documentWith({})))).toContain('tests="1" failures="0"');
});

test('the JUnit format of openapi-diff escapes names from the OpenAPI documents', () => {
  const { base, head } = received(object({ '</testcase>"&\u0001': string }), object({}));
  const text = formats.junit(compare(base, head));
  expect(text).toContain('&lt;/testcase&gt;&quot;&amp;`');
  expect(text).not.toContain('\u0001');
});

const yaml = '# A comment.\na:\n  - b: 1\n    c:\n      d: [1,\n        2]\n';
const json = '{\n  "a~/b": [1, {"x": "}\\"",\n    "c": [[2],\n 3]}],\n  "d": {}\n}';
test.each([
  ['a YAML document', yaml, { '#/a': 2, '#/a/0/c': 4, '#/a/0/c/d/1': 6, '#/x': 2 }],
  ['a JSON document', json, { '#': 1, '#/a~0~1b': 2, '#/a~0~1b/1/x': 2, '#/a~0~1b/1/c': 3, '#/a~0~1b/1/c/1': 4 }],
  [
    'a JSON document, or of its nearest parent if the place is missing',
    json,
    { '#/d': 5, '#/d/not/there': 5, '#/nor/this': 1 },
  ],
])('openapi-diff finds the line of the place that a JSON pointer names in %s', (_, text, lines) => {
  const lineOf = linesOf(text);
  expect(Object.fromEntries(Object.keys(lines).map(pointer => [pointer, lineOf(pointer)]))).toEqual(lines);
});

test.each<[string, Partial<Record<'breaking' | 'risky' | 'additive', number>>]>([
  ['major', { breaking: 1, additive: 3 }],
  ['minor', { risky: 1 }],
  ['minor', { additive: 1 }],
  ['patch', {}],
])('an API release needs a new %s version if the numbers of changes by level are %o', (part, counts) => {
  expect(requiredBump({ ...difference, counts: { breaking: 0, risky: 0, additive: 0, ...counts } })).toBe(part);
});

test.each<['major' | 'minor' | 'patch', string, string, boolean]>([
  ['patch', '1.0.0', '1.0.1', true],
  ['patch', '1.0.9', '1.1.0', true],
  ['patch', '1.0.0', '1.0.0', false],
  ['minor', '1.0.0', '1.0.1', false],
  ['minor', '1.9.0', '1.10.0', true],
  ['minor', '1.9.0', '1.8.0', false],
  ['minor', '1.9.0', '2.0.0', true],
  ['major', '1.9.0', '1.10.0', false],
  ['major', '1.9.0', '2.0.0', true],
])(
  'for an API release that needs a new %s version, the version increase from %s to %s is sufficient: %o',
  (part, from, to, isEnough) => {
    expect(isRaisedBy(part, from, to)).toBe(isEnough);
  },
);
