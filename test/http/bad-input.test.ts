import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { createTargets, operations, posts, reads, requestOf, writes } from '../helpers/operations.ts';
import { type RawRequestOptions, rawRequest } from '../helpers/raw-request.ts';
import type { Answer } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const targets = await createTargets(server, world);
const { token } = await issueToken(server, world, 'moderate');
afterEach(() => {
  expect(
    server.logLines.splice(0).filter(line => line.includes('"level":50')),
    'failures in the log',
  ).toEqual([]);
});
afterAll(() => expectInvariants(server));

const json = { 'content-type': 'application/json' };

type Expected = readonly [status: number, key: string];
const invalid: Expected = [422, 'validation_failed'];
const malformed: Expected = [400, 'malformed_json'];
const notFound: Expected = [404, 'not_found'];

/**
 * Sends bad requests. Expects that each request gets its expected error and that the database does not change. Returns
 * the bodies of the answers.
 */
async function refusesAll(method: string, requests: [what: string, path: string, RawRequestOptions, Expected][]) {
  const before = await snapshot(server);
  const outcomes: unknown[] = [];
  const answers: Answer['body'][] = [];
  for (const [what, path, options] of requests) {
    const { status, key, headers, body } = await rawRequest(server, method, path, { token, ...options });
    answers.push(body);
    outcomes.push([what, status, key, headers.get('content-type')]);
  }
  expect(outcomes).toEqual(
    requests.map(([what, , , expected]) => [what, ...expected, 'application/json; charset=utf-8']),
  );
  expect(await snapshot(server)).toEqual(before);
  return answers;
}

const numbered = (some: typeof operations) => some.map((operation, n) => ({ ...operation, n }));

/**
 * Returns all inputs for the first operation, and a quarter of them for each other operation, in turn. The same code
 * reads the requests of all operations, so it is enough that four operations together get all inputs.
 */
function shareOf<Input>(inputs: Input[], n: number): Input[] {
  return inputs.filter((_, index) => n === 0 || index % 4 === n % 4);
}

function pathOf(operation: (typeof operations)[number], given: Parameters<typeof requestOf>[2] = {}): string {
  return requestOf(operation, targets, given).line.split(' ')[1] ?? '';
}

const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
const utf8 = (text: string) => new TextEncoder().encode(text);
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map(part => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

/**
 * Request bodies with malformed JSON, with JSON that is no object, or with an unknown field. Each has its expected
 * error.
 */
const brokenBodies: [string, string | Uint8Array, Expected][] = [
  ['half an object', '{"value":', malformed],
  ['text', 'hello', malformed],
  ['a trailing comma', '{"value":"up",}', malformed],
  ['single quotes', "{'value':'up'}", malformed],
  ['a comment', '{"value":"up"} // yes', malformed],
  ['two documents', '{"value":"up"}{"value":"up"}', malformed],
  ['NaN', '{"value":NaN}', malformed],
  ['a raw control character', '{"value":"\u0001"}', malformed],
  ['white space alone', '   ', malformed],
  ['a NUL alone', '\0', malformed],
  ['a form', 'value=up', malformed],
  ['invalid UTF-8', bytes('{"value":"', [0xc3, 0x28], '"}'), malformed],
  ['a byte of Latin-1', bytes('{"value":"', [0xfc], '"}'), malformed],
  ['an overlong sequence', bytes('{"value":"', [0xc0, 0xaf], '"}'), malformed],
  ['a surrogate in UTF-8', bytes('{"value":"', [0xed, 0xa0, 0x80], '"}'), malformed],
  ['UTF-16', Buffer.from('\ufeff{"value":"up"}', 'utf16le'), malformed],
  ['unclosed brackets, 30,000 deep', '['.repeat(30_000), malformed],
  ['__proto__', '{"__proto__":{"value":"up"}}', invalid],
  ['__proto__ in escapes', '{"\\u005f_proto__":{"value":"up"}}', invalid],
  ['constructor.prototype', '{"constructor":{"prototype":{"value":"up"}}}', invalid],
  ['null', 'null', invalid],
  ['a number', '1', invalid],
  ['a string', '"up"', invalid],
  ['true', 'true', invalid],
  ['an array', '[]', invalid],
  ['arrays, 30,000 deep', nested(30_000), invalid],
  ['an unknown field', '{"unknown":1}', invalid],
  ['an unknown field of the name toString', '{"toString":1}', invalid],
  ['an unknown field of the name constructor', '{"constructor":1}', invalid],
  ['an unknown field without a name', '{"":1}', invalid],
  ['an unknown field, objects 5,000 deep', `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`, invalid],
  ['5,000 unknown fields', `{${Array.from({ length: 5000 }, (_, n) => `"f${n}":1`).join()}}`, invalid],
];

const kibibyte64 = 64 * 1024;

describe.each(numbered(writes))('the operation $method $path', operation => {
  test('a request body is refused if it is malformed JSON, is not a JSON object, or has an unknown field', async () => {
    await refusesAll(
      operation.method,
      shareOf(brokenBodies, operation.n).map(([what, body, expected]) => [
        what,
        pathOf(operation),
        { body, headers: json },
        expected,
      ]),
    );
  });

  test('a body of more than 64 KiB gets 413', async () => {
    const large = (size: number) => `{"body":"${'x'.repeat(size - 11)}"}`;
    expect(large(kibibyte64 + 1)).toHaveLength(kibibyte64 + 1);
    await refusesAll(operation.method, [
      [
        'a byte more than 64 KiB',
        pathOf(operation),
        { body: large(kibibyte64 + 1), headers: json },
        [413, 'payload_too_large'],
      ],
      ['1 MB', pathOf(operation), { body: large(1_000_000), headers: json }, [413, 'payload_too_large']],
      [
        '1 MB in chunks',
        pathOf(operation),
        { body: large(1_000_000), headers: { ...json, 'transfer-encoding': 'chunked' }, isChunked: true },
        [413, 'payload_too_large'],
      ],
      ['exactly 64 KiB', pathOf(operation), { body: large(kibibyte64), headers: json }, invalid],
    ]);
  });

  test('a request body gets 415 if its content type is missing or not JSON', async () => {
    const body = JSON.stringify(requestOf(operation, targets).json ?? {});
    const types = [
      'text/plain',
      'text/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/xml',
      'application/octet-stream',
      'application/jsonp',
      'application/json5',
      'application/vnd.api+json',
      'application/',
      'json',
      '*/*',
      'application/json, text/plain',
    ];
    await refusesAll(operation.method, [
      ...shareOf(types, operation.n).map((type): [string, string, RawRequestOptions, Expected] => [
        type,
        pathOf(operation),
        { body, headers: { 'content-type': type } },
        [415, 'unsupported_media_type'],
      ]),
      ['none', pathOf(operation), { body }, [415, 'unsupported_media_type']],
    ]);
  });

  test('a request with an unknown, repeated or invalid query parameter is refused', async () => {
    const body = operation.hasBody ? JSON.stringify(requestOf(operation, targets).json) : undefined;
    const options = body === undefined ? {} : { body, headers: json };
    await refusesAll(
      operation.method,
      shareOf(badQueries(world.boardSlug), operation.n).map(([query, expected]) => [
        query,
        pathOf(operation, { query }),
        options,
        expected,
      ]),
    );
  });
});

describe.each(numbered(writes.filter(({ hasIdeaId }) => hasIdeaId)))('the operation $method $path', operation => {
  test('a request with an invalid id in its path gets 404, like a request for a missing idea', async () => {
    const body = operation.hasBody ? JSON.stringify(requestOf(operation, targets).json) : undefined;
    const options = body === undefined ? {} : { body, headers: json };
    await refusesAll(
      operation.method,
      shareOf(badIds, operation.n).map(id => [id, pathOf(operation, { id }), options, notFound]),
    );
    if (!operation.path.includes(':tagId')) return;
    await refusesAll(
      operation.method,
      shareOf(badIds, operation.n)
        // Leaves out unused ids with a valid format, because a request to remove a tag that does not exist succeeds.
        .filter(id => !/^\d+$/.test(id) || !Number.isSafeInteger(Number(id)))
        .map(tagId => [tagId, pathOf(operation, { tagId }), options, notFound]),
    );
  });
});

/** Ids that must get 404: ids with an invalid format, ids that are too large, and an unused id. */
const badIds = [
  '0',
  '00',
  '-1',
  '-0',
  '+1',
  '1e3',
  '1.0',
  '0x1',
  '1_000',
  '1,2',
  '%20',
  '%201',
  '1%20',
  '1%00',
  '%00',
  '%D9%A1',
  '%EF%BC%91',
  'one',
  'null',
  'undefined',
  'NaN',
  'Infinity',
  '[object%20Object]',
  "1'--",
  '1;',
  '9007199254740991',
  '9007199254740993',
  '9223372036854775807',
  '9223372036854775808',
  '9'.repeat(30),
  '9'.repeat(90),
  '9'.repeat(300),
  '%',
  '%zz',
  '%C3%28',
  '..%2f1',
];

const badQueries = (slug: string): [string, Expected][] => [
  ['unknown=1', invalid],
  ['unknown', invalid],
  ['=1', invalid],
  ['BOARD=x', invalid],
  ['%00=1', invalid],
  ['__proto__=1', invalid],
  ['constructor=1', invalid],
  ['toString=1', invalid],
  ['board[]=x', invalid],
  [`board=${slug}&board=${slug}`, invalid],
  [`board=${slug}&board=other`, invalid],
  [`board=${slug}&unknown=1`, invalid],
  [`board=${slug}&${Array.from({ length: 1500 }, (_, n) => `p${n}=1`).join('&')}`, invalid],
  ['board=', [403, 'board_not_granted']],
  ['board=%00', [403, 'board_not_granted']],
  ['board=%ED%A0%80', [403, 'board_not_granted']],
  ['board=__proto__', [403, 'board_not_granted']],
  [`board=${'x'.repeat(5000)}`, [403, 'board_not_granted']],
];

/** JSON values that every text field of a body rejects, each with a description. */
const notText: [string, string][] = [
  ['a number', '1'],
  ['true', 'true'],
  ['null', 'null'],
  ['an array', '["up"]'],
  ['an object', '{"toString":"up"}'],
  ['nothing', '""'],
  ['white space', '" \\n\\t\\u00a0"'],
  ['a NUL', '"up\\u0000"'],
  ['a high surrogate alone', '"up\\ud83d"'],
  ['a low surrogate alone', '"\\ude00up"'],
  ['surrogates in the wrong order', '"\\ude00\\ud83d"'],
];

/** JSON values that every id field of a body rejects, each with a description. */
const notAnId: [string, string][] = [
  ['text', '"one"'],
  ['an empty string', '""'],
  ['a string of the digit zero', '"0"'],
  ['a string of a negative number', '"-1"'],
  ['a string of a fraction', '"1.5"'],
  ['a string of an exponent', '"1e0"'],
  ['a string of digits and a space', '"1 "'],
  ['a string of 2^53', '"9007199254740992"'],
  ['a string of full-width digits', '"１"'],
  ['zero', '0'],
  ['negative zero', '-0'],
  ['a negative number', '-1'],
  ['a fraction', '1.5'],
  ['2^53', '9007199254740992'],
  ['30 digits', '9'.repeat(30)],
  ['1e400', '1e400'],
  ['true', 'true'],
  ['null', 'null'],
  ['an array', '[1]'],
  ['an object', '{}'],
];

/** For each operation, the invalid values of each field of its body, each with a description. */
const badFields: Record<string, Record<string, [string, string][]>> = {
  createIdea: {
    title: [...notText, ['201 characters', JSON.stringify('x'.repeat(201))]],
    body: [...notText, ['10,001 characters', JSON.stringify('x'.repeat(10_001))]],
  },
  voteIdea: {
    value: [...notText, ['another word', '"sideways"'], ['upper case', '"UP"'], ['with a space', '"up "']],
  },
  commentOnIdea: { body: [...notText, ['501 characters', JSON.stringify('x'.repeat(501))]] },
  addNote: { body: [...notText, ['2,001 characters', JSON.stringify('x'.repeat(2_001))]] },
  setIdeaStatus: {
    status: [
      // Leaves out the texts, because every text passes the schema. Only the code that looks up the board's statuses
      // rejects texts.
      ...notText.filter(([, value]) => !value.startsWith('"')),
    ],
  },
  addIdeaTag: { tag_id: notAnId },
  mergeIdea: { target_id: notAnId },
  createWebhook: {
    url: [
      ...notText,
      ['2,001 characters', JSON.stringify(`https://hooks.example.com/${'x'.repeat(1_975)}`)],
      ['no URL', '"up"'],
      ['a file', '"file:///etc/passwd"'],
      ['a URL with a password', '"https://ada:secret@hooks.example.com"'],
      ['a private address', '"https://10.0.0.1/"'],
      ['a loopback address', '"http://127.0.0.1:8080/"'],
      ['a metadata address', '"http://169.254.169.254/latest"'],
    ],
  },
};

describe.each(numbered(posts.filter(({ hasBody }) => hasBody)))('the body of $method $path', operation => {
  const { json: valid = {} } = requestOf(operation, {
    ideaId: 1,
    targetId: 1,
    mergedId: 1,
    tagId: 1,
    assignedTagId: 1,
    spareId: 1,
    commentedId: 1,
    commentId: 1,
    noteId: 1,
    webhookId: 1,
    deliveryId: 1,
    spareWebhookId: 1,
  });
  const fields = badFields[operation.id] ?? {};

  test('the table `badFields` in this test file has invalid values for every body field of the tested operation', () => {
    expect(Object.keys(fields).sort()).toEqual(Object.keys(valid).sort());
  });

  test.each(Object.keys(fields))(
    'a body with a missing or invalid field %s is refused, and the error names the field',
    async field => {
      const { json: whole = {} } = requestOf(operation, targets);
      const { [field]: _, ...without } = whole;
      const others = Object.entries(without).map(
        ([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)},`,
      );
      const bodies: [string, string][] = [
        ['missing', JSON.stringify(without)],
        ...(fields[field] ?? []).map(([what, value]): [string, string] => [
          what,
          `{${others.join('')}"${field}":${value}}`,
        ]),
      ];
      const answers = await refusesAll(
        'POST',
        bodies.map(([what, body]) => [what, pathOf(operation), { body, headers: json }, invalid]),
      );
      expect(answers.map(({ error }) => error.issues[0].path)).toEqual(bodies.map(() => ['body', field]));
    },
  );

  test('a request body with an unknown field is refused, even if the field is called toString or has an empty name', async () => {
    const { json: whole } = requestOf(operation, targets);
    const extra = [
      'extra',
      'id',
      'Title',
      'author_id',
      'moderation_state',
      'my_vote',
      'toString',
      'hasOwnProperty',
      '',
    ];
    await refusesAll(
      'POST',
      extra.map(name => [
        name,
        pathOf(operation),
        { body: JSON.stringify({ ...whole, [name]: 1 }), headers: json },
        invalid,
      ]),
    );
  });

  test('an operation that needs a body refuses a missing body, an empty body and an empty JSON object', async () => {
    await refusesAll('POST', [
      ['no body at all', pathOf(operation), {}, invalid],
      ['an empty body', pathOf(operation), { body: '', headers: json }, invalid],
      ['an empty object', pathOf(operation), { body: '{}', headers: json }, invalid],
    ]);
  });

  const accepted = [
    'application/json',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json; charset="utf-8"',
    'Application/JSON',
  ];
  test.each(shareOf(accepted, operation.n))('a body with the content type %s is accepted as JSON', async type => {
    const fresh = await createTargets(server, world);
    const { line, json: body } = requestOf(operation, fresh);
    const answer = await rawRequest(server, 'POST', line.split(' ')[1] ?? '', {
      token,
      body: JSON.stringify(body),
      headers: { 'content-type': type },
    });
    expect(answer.status).toBeLessThan(300);
  });

  test('the server ignores a byte order mark at the start of a JSON body', async () => {
    const fresh = await createTargets(server, world);
    const { line, json: body } = requestOf(operation, fresh);
    const answer = await rawRequest(server, 'POST', line.split(' ')[1] ?? '', {
      token,
      body: utf8(`\ufeff${JSON.stringify(body)}`),
      headers: json,
    });
    expect(answer.status).toBeLessThan(300);
  });
});

describe.each(writes.filter(({ hasBody }) => !hasBody))(
  'the operation $method $path, which needs no body',
  operation => {
    test('an operation without body fields refuses a body that has a field or is not a JSON object', async () => {
      const fresh = await createTargets(server, world);
      const [method = '', path = ''] = requestOf(operation, fresh).line.split(' ');
      await refusesAll(method, [
        ['a field', path, { body: '{"target_id":1}', headers: json }, invalid],
        ['a field that is null', path, { body: '{"target_id":null}', headers: json }, invalid],
        ['null', path, { body: 'null', headers: json }, invalid],
        ['an array', path, { body: '[]', headers: json }, invalid],
        ['false', path, { body: 'false', headers: json }, invalid],
        ['an empty string', path, { body: '""', headers: json }, invalid],
      ]);
      const { body } = await rawRequest(server, method, path, { token, body: '{"target_id":1}', headers: json });
      expect(body.error.issues).toEqual([
        { path: ['body'], code: 'unrecognized_keys', message: expect.stringContaining('target_id') },
      ]);
    });

    test.each([
      ['no body', {}],
      ['no body, but a JSON content type', { headers: json }],
      ['an empty body with a JSON content type', { headers: json, body: '' }],
      ['an empty object', { headers: json, body: ' {} ' }],
    ] satisfies [string, RawRequestOptions][])(
      'an operation without body fields succeeds with this kind of request body: %s',
      async (_what, options) => {
        const fresh = await createTargets(server, world);
        const [method = '', path = ''] = requestOf(operation, fresh).line.split(' ');
        const before = await snapshot(server);
        expect([200, 201]).toContain((await rawRequest(server, method, path, { token, ...options })).status);
        expect(await snapshot(server)).not.toEqual(before);
      },
    );
  },
);

const cursorOf = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const time = '2026-03-14 09:26:53.589+00';

const badCursors: Record<string, string> = {
  empty: '',
  text: 'abc',
  'not base64': '!!!!',
  'base64 of nothing': cursorOf(''),
  'a NUL': '%00',
  'longer than 500': 'A'.repeat(501),
  null: cursorOf(null),
  'an object': cursorOf({ sort: 'newest' }),
  'too few parts': cursorOf(['newest', time]),
  'too many parts': cursorOf(['newest', time, 1, 1]),
  'an unknown order': cursorOf(['oldest-first', time, 1]),
  'no time': cursorOf(['newest', 'yesterday', 1]),
  'a 31st of February': cursorOf(['newest', '2026-02-31 25:61:61+99', 1]),
  'a time that is a number': cursorOf(['newest', 1, 1]),
  'SQL for a time': cursorOf(['newest', "now'; --", 1]),
  'an id that is text': cursorOf(['newest', time, '1']),
  'an id that is a fraction': cursorOf(['newest', time, 1.5]),
  'an id past 2^53': cursorOf(`["newest","${time}",9007199254740993000]`),
  'an id past all numbers': cursorOf(`["newest","${time}",1e999]`),
  'a score in another order': cursorOf(['top', 1, 1]),
  'comments in another order': cursorOf(['oldest', 0, 'x']),
};

const badPages = [
  '0',
  '-1',
  '1.5',
  '1e3',
  '+1',
  '%201',
  'x',
  '',
  '9007199254740992',
  '9'.repeat(30),
  '9007199254740991',
  '%D9%A1',
];
const badPerPages = ['0', '101', '-1', '1.5', '1e1', '+1', 'x', '', '9'.repeat(30)];

describe.each(numbered(reads))('the operation $method $path', operation => {
  test('a request with an unknown, repeated or invalid query parameter is refused', async () => {
    await refusesAll(
      'GET',
      shareOf(badQueries(world.boardSlug), operation.n).map(([query, expected]) => [
        query,
        pathOf(operation, { query }),
        {},
        expected,
      ]),
    );
  });

  test('a GET request with a malformed body succeeds, because the server ignores the body of a GET request', async () => {
    const body = '{"half":';
    const answer = await rawRequest(server, 'GET', pathOf(operation), { token, body, headers: json });
    expect(answer.status).toBe(200);
  });
});

describe.each(numbered(reads.filter(({ hasIdeaId }) => hasIdeaId)))('the operation $method $path', operation => {
  test('a request with an invalid id in its path gets 404, like a request for a missing idea', async () => {
    await refusesAll(
      'GET',
      shareOf(badIds, operation.n).map(id => [id, pathOf(operation, { id }), {}, notFound]),
    );
  });
});

describe.each(numbered(reads.filter(({ id }) => id.startsWith('list'))))('the operation $method $path', operation => {
  test('a list request with an invalid cursor, page or per_page is refused', async () => {
    const queries = [
      ...Object.values(badCursors).map(cursor => `cursor=${cursor}`),
      ...badPages.map(page => `page=${page}`),
      ...badPerPages.map(perPage => `per_page=${perPage}`),
      `page=1&cursor=${cursorOf(['newest', time, 1])}`,
      'page=1&page=1',
      'per_page=1&per_page=1',
      `cursor=a&cursor=b`,
    ];
    await refusesAll(
      'GET',
      shareOf(queries, operation.n).map(query => [query, pathOf(operation, { query }), {}, invalid]),
    );
  });
});

test('a request to GET /api/v1/ideas with an invalid filter, an invalid sort order or an invalid search text is refused', async () => {
  const queries = [
    'status=',
    'status=inbox',
    'status=OPEN',
    'status=open&status=open',
    'status[]=open',
    'status=open%00',
    'status_key=a&status_key=a',
    'status_key=%00',
    `status_key=${'x'.repeat(51)}`,
    'sort=',
    'sort=oldest',
    'sort=newest,top',
    'sort=top&sort=top',
    'moderation_state=',
    'moderation_state=published',
    'moderation_state=rejected',
    'moderation_state=pending&moderation_state=pending',
    'q=%00',
    'q=a%00b',
    'q=a&q=b',
    `q=${'x'.repeat(101)}`,
    `q=${'%F0%9F%A6%84'.repeat(101)}`,
  ];
  await refusesAll(
    'GET',
    queries.map(query => [query, `/api/v1/ideas?${query}`, {}, invalid]),
  );
});

test('a search with GET /api/v1/ideas accepts special characters and texts of 100 characters', async () => {
  const words = [
    "'",
    '"',
    '\\',
    ':*',
    '&',
    '|',
    '!',
    '(',
    ')',
    '<->',
    '%',
    '_',
    "a'b",
    'a:*&b',
    '!!!',
    '💡',
    '0',
    '-',
    "\\'",
    '$$',
    '\ufeff',
    '\u0001',
    'ß',
    'İ',
    '\u202e',
    "' or 1=1 --",
    ':A',
    "'':*",
    '<1>',
    '.',
    '@',
    'a@b.c',
    'http://x/y?z=1#a',
    '<b>',
    '1.5e10',
    'x'.repeat(100),
    '🦄'.repeat(100),
    ' '.repeat(200),
    '\u0301',
    'a\u0301'.repeat(50),
  ];
  for (const word of words) {
    const path = `/api/v1/ideas?q=${encodeURIComponent(word)}`;
    expect([word, (await rawRequest(server, 'GET', path, { token })).status]).toEqual([word, 200]);
  }
});

test('a request to GET /api/v1/token is refused if it has any query parameter, even the parameter `board`', async () => {
  await refusesAll('GET', [
    ['unknown', '/api/v1/token?unknown=1', {}, invalid],
    ['board', `/api/v1/token?board=${world.boardSlug}`, {}, invalid],
  ]);
});

/**
 * One request without a body, and three requests with invalid bodies. Each operation that expects a body would refuse
 * these bodies.
 */
const anyBody: RawRequestOptions[] = [
  {},
  { body: '{', headers: json },
  { body: 'x', headers: { 'content-type': 'text/plain' } },
  { body: 'x'.repeat(100_000), headers: json },
];

test('a request to an unknown path gets 404, even with an invalid body', async () => {
  const paths = ['/api', '/api/v1', '/api/v1/', '/api/v2/ideas', '/api/v1/ideas/1/nonsense', '//'];
  for (const path of paths) {
    for (const method of ['GET', 'POST', 'DELETE', 'PATCH']) {
      for (const options of anyBody) {
        const answer = await rawRequest(server, method, path, { token, ...options });
        expect([method, path, answer.status, answer.key]).toEqual([method, path, 404, 'not_found']);
      }
    }
  }
});

test('a request with the unsupported method PUT gets 405, even with an invalid body', async () => {
  for (const operation of operations) {
    for (const options of anyBody) {
      const answer = await rawRequest(server, 'PUT', pathOf(operation), { token, ...options });
      expect([operation.path, answer.status, answer.key]).toEqual([operation.path, 405, 'method_not_allowed']);
      expect(answer.headers.get('allow')).toContain(operation.method);
    }
  }
});

test("if a request has several errors, the response contains only the error that comes first in the server's order of checks", async () => {
  const [ideaPath, missingPath] = [`/api/v1/ideas/${targets.ideaId}/vote`, '/api/v1/ideas/999999999/vote'];
  const reader = await issueToken(server, world, 'read');
  const text = { 'content-type': 'text/plain' };
  for (const [path, options, expected] of [
    // The server checks in this order: token, board, grant, content type, JSON syntax, schema of the request, idea.
    [missingPath, { token: 'x', body: '{', headers: text }, [401, 'unauthorized']],
    [`${missingPath}?board=other`, { token: reader.token, body: '{', headers: text }, [403, 'board_not_granted']],
    [missingPath, { token: reader.token, body: '{', headers: text }, [403, 'insufficient_scope']],
    [missingPath, { token, body: '{', headers: text }, [415, 'unsupported_media_type']],
    [missingPath, { token, body: '{', headers: json }, malformed],
    [missingPath, { token, body: '{}', headers: json }, invalid],
    [`${ideaPath}?unknown=1`, { token, body: '{}', headers: json }, invalid],
    [missingPath, { token, body: '{"value":"up"}', headers: json }, notFound],
  ] as const) {
    const answer = await rawRequest(server, 'POST', path, options);
    expect([path, options, answer.status, answer.key]).toEqual([path, options, ...expected]);
  }
});
