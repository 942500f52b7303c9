import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { connect, createTestDatabase } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest, type TestServer } from '../helpers/server.ts';
import { callTool } from '../mcp/call-tool.ts';

const server = await startServerForFile();

interface Board {
  world: World;
  token: string;
  list(query?: Record<string, unknown> | string): Promise<Awaited<ReturnType<typeof request>>>;
  titles(query?: Record<string, unknown> | string): Promise<string[]>;
}

/** Creates a board and a token with the given grant on the board. */
async function openBoard(
  settings: Parameters<typeof createWorld>[1] = {},
  grant: 'read' | 'write' | 'moderate' = 'read',
  on: TestServer = server,
): Promise<Board> {
  const world = await createWorld(on, settings);
  const { token } = await issueToken(on, world, grant);
  const list: Board['list'] = (query = {}) => {
    const search = typeof query === 'string' ? query : new URLSearchParams(query as Record<string, string>);
    return request(on, `GET /api/v1/ideas?${search}`, { token });
  };
  const titles: Board['titles'] = async query => {
    const answer = await list(query);
    expect(answer.status).toBe(200);
    return answer.body.data.map(({ title }: { title: string }) => title);
  };
  return { world, token, list, titles };
}

/** Inserts an idea for each title. The idea with the first title is the newest. */
async function insertTitles({ world }: Board, titles: string[], input: Parameters<typeof insertIdea>[2] = {}) {
  const ids: number[] = [];
  const start = Date.parse('2026-03-14T09:00:00.000Z');
  for (const [n, title] of titles.entries()) {
    ids.push(await insertIdea(server, world, { title, createdAt: new Date(start - n * 1000), ...input }));
  }
  return ids;
}

describe('GET /api/v1/ideas', () => {
  test('on a board without ideas, the list of ideas is one empty page', async () => {
    const { list } = await openBoard();
    expect((await list()).body).toEqual({ data: [], page: 1, per_page: 20, has_more: false, next_cursor: null });
  });

  test('an idea has the same fields and values in the list of ideas as in the response for the single idea', async () => {
    const board = await openBoard({}, 'moderate');
    const [id] = await insertTitles(board, ['One']);
    await request(server, `POST /api/v1/ideas/${id}/vote`, { token: board.token, json: { value: 'down' } });
    const one = await request(server, `GET /api/v1/ideas/${id}`, { token: board.token });
    const { body } = await board.list();
    expect(body.data).toEqual([one.body]);
    expect(body.data[0].my_vote).toBe('down');
  });

  test("a board's list of ideas has no ideas of another board and, by default, no pending, rejected or merged ideas", async () => {
    const board = await openBoard({}, 'moderate');
    const other = await openBoard();
    await insertTitles(other, ['Elsewhere']);
    const [target, source] = await insertTitles(board, ['Target', 'Merged']);
    await insertTitles(board, ['Pending'], { moderationState: 'pending' });
    await insertTitles(board, ['Rejected'], { moderationState: 'rejected' });
    const { token } = board;
    const merge = await request(server, `POST /api/v1/ideas/${source}/merge`, { token, json: { target_id: target } });
    expect(merge.status).toBe(200);
    for (const query of [{}, { sort: 'top' }, { q: 'e' }, { status: 'open' }, { status_key: 'open' }]) {
      expect([query, (await board.titles(query)).filter(title => title !== 'Target')]).toEqual([query, []]);
    }
    await request(server, `POST /api/v1/ideas/${source}/unmerge`, { token });
    expect(await board.titles()).toEqual(['Target', 'Merged']);
  });
});

describe('the bodies of the list', () => {
  const bodies = {
    short: 'x'.repeat(300),
    long: `${'x'.repeat(299)}yz`,
    emoji: '😀'.repeat(300),
    'more emoji': `${'😀'.repeat(300)}!`,
    longest: 'é'.repeat(10_000),
    lines: `${'a\n'.repeat(150)}b`,
  };
  const titles = Object.keys(bodies) as (keyof typeof bodies)[];
  let board: Board;

  beforeAll(async () => {
    board = await openBoard();
    for (const title of titles) await insertTitles(board, [title], { body: bodies[title] });
  });

  const read = async (query: Record<string, string>) => {
    const { data } = (await board.list(query)).body as {
      data: { title: string; body: string; body_truncated: boolean }[];
    };
    return Object.fromEntries(data.map(idea => [idea.title, [idea.body, idea.body_truncated]]));
  };
  const whole = Object.fromEntries(titles.map(title => [title, [bodies[title], false]]));
  const cut = {
    short: [bodies.short, false],
    long: [`${'x'.repeat(299)}y`, true],
    emoji: [bodies.emoji, false],
    'more emoji': [bodies.emoji, true],
    longest: ['é'.repeat(300), true],
    lines: ['a\n'.repeat(150), true],
  };

  test('the list of ideas has the whole body of each idea if the query parameter `body` is missing or has the value `full`', async () => {
    expect(await read({})).toEqual(whole);
    expect(await read({ body: 'full' })).toEqual(whole);
  });

  test.each([{}, { sort: 'top' }, { per_page: '100' }, { page: '1' }, { status: 'open' }])(
    'the list of ideas with body=excerpt and the query %j has the first 300 characters of each body and marks shortened bodies',
    async query => {
      expect(await read({ ...query, body: 'excerpt' })).toEqual(cut);
    },
  );

  test('the parameter `body=excerpt` also shortens the bodies in search results and on later pages of the list of ideas', async () => {
    expect(await read({ q: 'emoji', body: 'excerpt' })).toEqual({ emoji: cut.emoji, 'more emoji': cut['more emoji'] });
    const first = await board.list({ per_page: '1', body: 'excerpt' });
    const cursor: string = first.body.next_cursor;
    const { [first.body.data[0].title as keyof typeof cut]: _, ...others } = cut;
    expect(await read({ per_page: '100', body: 'excerpt', cursor })).toEqual(others);
    // A cursor does not contain the parameter `body`. So a client can read a page with excerpts, and then the next page
    // with whole bodies.
    const { [first.body.data[0].title]: __, ...wholeOthers } = whole;
    expect(await read({ per_page: '100', cursor })).toEqual(wholeOthers);
  });

  test('the list of ideas with whole bodies and the same list with shortened bodies have different ETags', async () => {
    const [full, excerpt] = [await board.list({ body: 'full' }), await board.list({ body: 'excerpt' })];
    const tag = excerpt.headers.get('etag') ?? '';
    expect(tag).not.toBe(full.headers.get('etag'));
    const again = (query: string) =>
      request(server, `GET /api/v1/ideas?${query}`, { token: board.token, headers: { 'if-none-match': tag } });
    expect((await again('body=excerpt')).status).toBe(304);
    expect((await again('body=full')).status).toBe(200);
  });

  test.each(['', 'FULL', 'none', '300'])(
    'a request for the list of ideas is rejected if the query parameter `body` has the invalid value %j',
    async body => {
      expect(await board.list({ body })).toMatchObject({ status: 422, key: 'validation_failed' });
    },
  );
});

const registry = [
  { key: 'new', category: 'inbox', label: 'New' },
  { key: 'triage', category: 'inbox', label: 'Triage' },
  { key: 'planned', category: 'planned', label: 'Planned' },
  { key: 'building', category: 'active', label: 'Building' },
  { key: 'spam', category: 'declined', label: 'Spam', isHidden: true },
  { key: 'declined', category: 'declined', label: 'Declined' },
] as const;

describe('the filters by status', () => {
  let board: Board;

  beforeAll(async () => {
    board = await openBoard({ statuses: [...registry] });
    for (const { key } of registry) await insertTitles(board, [`is ${key}`], { status: key });
  });

  const sorted = async (query: Record<string, unknown>) => (await board.titles(query)).sort();

  test('the list of ideas without a status filter has the ideas in all statuses except hidden statuses', async () => {
    expect(await sorted({})).toEqual(['is building', 'is declined', 'is new', 'is planned', 'is triage']);
  });

  test.each([
    ['open', ['is new', 'is triage']],
    ['planned', ['is planned']],
    ['in_progress', ['is building']],
    ['done', []],
    ['declined', ['is declined', 'is spam']],
    ['archived', []],
  ])(
    'the filter `status=%s` finds all ideas whose field `status` has this value, including ideas in custom and hidden statuses',
    async (status, titles) => {
      expect(await sorted({ status })).toEqual(titles);
    },
  );

  test.each([
    ['new', ['is new']],
    ['spam', ['is spam']],
    ['declined', ['is declined']],
    // The board has no status with these keys, so the filter finds no ideas.
    ['open', []],
    ['inbox', []],
    ['no-such-status', []],
    ['NEW', []],
    ['', []],
    [`' or 1=1 --`, []],
    ['%', []],
  ])('the filter `status_key=%s` finds only the ideas in the status with this key', async (status_key, titles) => {
    expect(await sorted({ status_key })).toEqual(titles);
  });

  test('if a request has the filters `status` and `status_key`, only `status_key` takes effect, even if the result is empty', async () => {
    expect(await sorted({ status: 'planned', status_key: 'new' })).toEqual(['is new']);
    expect(await sorted({ status: 'planned', status_key: 'unknown' })).toEqual([]);
    expect(await sorted({ status: 'open', status_key: 'spam' })).toEqual(['is spam']);
  });

  test.each(['inbox', 'active', 'completed', 'new', '', 'OPEN', 'all'])(
    'the list of ideas rejects the invalid filter status=%s',
    async status => {
      expect(await board.list({ status })).toMatchObject({ status: 422, key: 'validation_failed' });
    },
  );

  test('after the status of an idea changes, the filter by status finds the idea by its new status', async () => {
    const own = await openBoard({ statuses: [...registry] }, 'moderate');
    const [id] = await insertTitles(own, ['Moves'], { status: 'new' });
    await request(server, `POST /api/v1/ideas/${id}/status`, { token: own.token, json: { status: 'spam' } });
    expect(await own.titles()).toEqual([]);
    expect(await own.titles({ status: 'declined' })).toEqual(['Moves']);
  });
});

test.each([
  ['CSV import/export of customers', ['export', 'import export', 'csv expo', 'import/export', 'import/exp']],
  ['iOS/Android app', ['android', 'ios app', 'IOS/ANDROID']],
  ['yes/no question', ['no', 'yes no']],
  ['Node.js support', ['js', 'node js', 'node.js', 'Node.j']],
  ['Docs at https://example.com/help/page?x=1', ['help', 'example', 'com/help', 'https://example.com/help', 'page']],
  ['the end.Next sentence', ['next', 'end next']],
  ['a <foo bar> z', ['foo', '<foo bar>', 'bar z']],
  ['Contact sales@corp.com button', ['corp', 'sales', 'sales@corp.com', 'sales@co']],
  ['-5 points and +7', ['5', '-5', '7', '+7']],
  ['24/7 support at 12:30', ['7', '24/7', '30', '12:30']],
  ['2026-01-15 export of v1.2.3', ['15', '01', '2026-01-15', 'v1.2', '2026 15']],
  ['Covid-19 and AT&T', ['19', 'covid-19', 'covid', 'at&t', 'at t']],
  ['AND/OR &nbsp; filters', ['or', 'nbsp', 'and/or']],
])('the idea search finds each word of the title %j, also next to a sign without spaces', async (title, queries) => {
  const own = await openBoard();
  await insertTitles(own, [title, 'Something else']);
  for (const q of queries) expect([q, await own.titles({ q })]).toEqual([q, [title]]);
});

describe('the search in titles', () => {
  let board: Board;
  const all = [
    'Export a board as CSV',
    'Export as PDF',
    'Importing from CSV files',
    'Café menu à la carte',
    'Naive resume search',
    'Single sign-on with OpenID',
    'Dark mode: colours & themes (beta)!',
    "Don't notify me at 3.14 o'clock",
    'ÜBERSICHT der Größen',
    'C:\\temp and a%b_c',
    'Поиск по словам',
    '日本語 の検索',
    'Version 2.10 released',
    "See example.org/it's-here first",
  ];

  beforeAll(async () => {
    board = await openBoard();
    await insertTitles(board, all);
  });

  const finds = (q: string, extra: Record<string, unknown> = {}) => board.titles({ q, per_page: 100, ...extra });

  test.each([
    ['one word', 'export', ['Export a board as CSV', 'Export as PDF']],
    ['several words of a title, in any order', 'csv export', ['Export a board as CSV']],
    ['a word of a title and a missing word', 'export xls', []],
    ['the beginning of a word', 'expo', ['Export a board as CSV', 'Export as PDF']],
    ['the beginnings of several words', 'im fr cs', ['Importing from CSV files']],
    ['the middle of a word', 'port', []],
    ['the end of a word', 'ting', []],
    ['words in another case', 'EXPORT Pdf', ['Export as PDF']],
    ['the same word twice', 'csv csv', ['Export a board as CSV', 'Importing from CSV files']],
    ['short and common words', 'as a c', ['Export a board as CSV']],
    ['words between white space', '  export \t pdf \n', ['Export as PDF']],
  ])('the idea search for %s finds exactly the ideas with matching titles', async (_, q, titles) => {
    expect(await finds(q)).toEqual(titles);
  });

  test.each([
    ['an accent only in the title', 'cafe menu', 'Café menu à la carte'],
    ['an accent in the title and in the search text', 'café', 'Café menu à la carte'],
    ['a decomposed accent', 'cafe\u0301', 'Café menu à la carte'],
    ['an accent only in the search text', 'naïve résumé', 'Naive resume search'],
    ['an upper-case accent', 'CAFÉ À', 'Café menu à la carte'],
    ['an umlaut without its dots', 'ubersicht', 'ÜBERSICHT der Größen'],
    ['an umlaut in lower case', 'übersicht größ', 'ÜBERSICHT der Größen'],
    ['ss in place of a sharp s', 'grossen', 'ÜBERSICHT der Größen'],
    ['full-width letters', 'ｅｘｐｏｒｔ ｐｄｆ', 'Export as PDF'],
    ['Cyrillic in another case', 'ПОИСК сло', 'Поиск по словам'],
    ['Japanese', '日本', '日本語 の検索'],
  ])(
    'the idea search ignores accents, upper and lower case, and full-width forms of letters: %s',
    async (_, q, title) => {
      expect(await finds(q)).toEqual([title]);
    },
  );

  test.each([
    ['a hyphenated word', 'sign-on', 'Single sign-on with OpenID'],
    ['the parts of a hyphenated word', 'sign on', 'Single sign-on with OpenID'],
    ['the beginning of a hyphenated word', 'sign-o', 'Single sign-on with OpenID'],
    ['the beginning of one part of a hyphenated word', 'sig', 'Single sign-on with OpenID'],
    ['punctuation around words', '(dark) mode!', 'Dark mode: colours & themes (beta)!'],
    ['an apostrophe', "don't", "Don't notify me at 3.14 o'clock"],
    ['a number with a point', '3.14', "Don't notify me at 3.14 o'clock"],
    ['a version number', '2.10', 'Version 2.10 released'],
  ])('the idea search for %s finds the only idea with a matching title', async (_, q, title) => {
    expect(await finds(q)).toEqual([title]);
  });

  test.each(['...', '-', '&', '|', '!', '()', ':*', "'", "''", '"', '\\', '%', '_', '*', '? ! .', '😀', '\u200b'])(
    'an idea search for a text without any word, such as %j, finds nothing',
    async q => {
      expect(await finds(q)).toEqual([]);
    },
  );

  test.each([
    "export' & '",
    'export:*',
    'export & pdf',
    'export | nothing',
    '!export',
    'export <-> pdf',
    '(export',
    'export)',
    "export''",
    'export\\',
    "\\'export",
    'export"',
    'export%',
    "export'; drop table ideas; --",
    'export:A',
    '$1 export',
    'export\\:*',
    "'export':*B",
    "export example.com/it's",
    "www.example.com/?q='export':*&b='",
  ])('the idea search for %j succeeds and finds only ideas whose titles begin with the word Export', async q => {
    const answer = await board.list({ q });
    expect(answer.status).toBe(200);
    for (const { title } of answer.body.data) expect(title).toMatch(/^Export/);
  });

  test('characters with a special meaning in a PostgreSQL text search have no special effect in an idea search', async () => {
    expect(await finds('export & pdf')).toEqual(['Export as PDF']);
    expect(await finds('!export')).toEqual(await finds('export'));
    expect(await finds('export | nothing')).toEqual([]);
    // PostgreSQL's text search parser treats an apostrophe inside a URL as part of a word.
    expect(await finds("example.org/it's")).toEqual(["See example.org/it's-here first"]);
    expect(await finds('temp a%b_c')).toEqual(['C:\\temp and a%b_c']);
  });

  test.each(['', ' ', ' \n\t\u00a0'])('the blank search text %j does not filter the list of ideas', async q => {
    const whole = await board.list({ per_page: '100' });
    expect(whole.body.data.length).toBeGreaterThan(10);
    expect((await board.list({ q, per_page: '100' })).body).toEqual(whole.body);
    const args = { q, per_page: 100, body: 'full' };
    const answer = await callTool(server, { token: board.token, name: 'list_ideas', args });
    expect(answer.body.result.structuredContent).toEqual(whole.body);
  });

  test('the search text of the idea search can have at most 100 Unicode code points', async () => {
    expect((await board.list({ q: 'a'.repeat(100) })).status).toBe(200);
    expect((await board.list({ q: '😀'.repeat(100) })).status).toBe(200);
    expect((await board.list({ q: ` ${'a'.repeat(100)} ` })).status).toBe(200);
    for (const q of ['a'.repeat(101), '😀'.repeat(101)]) {
      expect(await board.list({ q })).toMatchObject({ status: 422, key: 'validation_failed' });
    }
    expect(await board.list('q=a%00b')).toMatchObject({ status: 422, key: 'validation_failed' });
    expect(await board.list('q=a&q=b')).toMatchObject({ status: 422, key: 'validation_failed' });
  });

  test("the idea search does not find an idea if only the idea's body contains the searched word", async () => {
    const own = await openBoard();
    await insertTitles(own, ['A title'], { body: 'The body has words of its own.' });
    expect(await own.titles({ q: 'words' })).toEqual([]);
  });

  test('the idea search can be combined with a status filter, a sort order and pages', async () => {
    const own = await openBoard();
    const ids = await insertTitles(own, ['Word one', 'Word two', 'Other', 'Word three']);
    await insertTitles(own, ['Word done'], { status: 'done' });
    await server.sql('update ideas set up_count = 5 where id = $1', [ids[3]]);
    expect(await own.titles({ q: 'word', status: 'done' })).toEqual(['Word done']);
    expect(await own.titles({ q: 'word', status_key: 'open' })).toEqual(['Word one', 'Word two', 'Word three']);
    expect((await own.titles({ q: 'word', sort: 'top' }))[0]).toBe('Word three');
    const first = await own.list({ q: 'word', per_page: '3' });
    expect(first.body).toMatchObject({ has_more: true, per_page: 3 });
    expect(await own.titles({ q: 'word', per_page: '3', cursor: first.body.next_cursor })).toHaveLength(1);
    expect(await own.titles({ q: 'word', per_page: '3', page: '2' })).toHaveLength(1);
  });

  test('the idea search finds a new idea immediately', async () => {
    const own = await openBoard({}, 'write');
    const json = { title: 'Brand-new thing', body: 'A body.' };
    await request(server, 'POST /api/v1/ideas', { token: own.token, json });
    expect(await own.titles({ q: 'brand thing' })).toEqual(['Brand-new thing']);
  });
});

describe('the order of the list', () => {
  test('the default sort order of the list of ideas is newest first, and ideas of the same millisecond are sorted by the higher id first', async () => {
    const board = await openBoard();
    const at = (time: string) => ({ createdAt: new Date(time) });
    await insertTitles(board, ['tie 1'], at('2026-03-14T09:00:00.001Z'));
    await insertTitles(board, ['oldest'], at('2026-03-14T08:59:59.999Z'));
    await insertTitles(board, ['tie 2'], { ...at('2026-03-14T09:00:00.001Z'), status: 'done' });
    await insertTitles(board, ['newest'], at('2026-03-14T09:00:00.002Z'));
    await insertTitles(board, ['tie 3'], at('2026-03-14T09:00:00.001Z'));
    const expected = ['newest', 'tie 3', 'tie 2', 'tie 1', 'oldest'];
    expect(await board.titles()).toEqual(expected);
    expect(await board.titles({ sort: 'newest' })).toEqual(expected);
  });

  test('the sort order `top` lists the ideas with the highest score first, and among ideas with equal scores the higher id first', async () => {
    const board = await openBoard();
    const scores: [string, number, number, string][] = [
      ['minus', 0, 2, 'open'],
      ['zero a', 0, 0, 'open'],
      ['seven', 9, 2, 'done'],
      ['zero b', 3, 3, 'planned'],
      ['two', 2, 0, 'open'],
    ];
    for (const [title, up, down, status] of scores) {
      const [id] = await insertTitles(board, [title], { status });
      await server.sql('update ideas set up_count = $2, down_count = $3 where id = $1', [id, up, down]);
    }
    expect(await board.titles({ sort: 'top' })).toEqual(['seven', 'two', 'zero b', 'zero a', 'minus']);
  });

  test.each(['oldest', 'score', 'NEWEST', ''])('the list of ideas rejects the invalid sort order %j', async sort => {
    const { list } = await openBoard();
    expect(await list({ sort })).toMatchObject({ status: 422, key: 'validation_failed' });
  });
});

describe('the pages of the list', () => {
  let board: Board;

  beforeAll(async () => {
    board = await openBoard();
    await server.sql(
      `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, up_count, created_at)
      select $1, $2, $3, s.id, 'Idea ' || n, 'A body.', 'published', n % 5, '2026-03-14 09:00Z'::timestamptz + n / 3 * interval '1 ms'
      from generate_series(1, 105) n join statuses s on s.board_id = $2 and s.position = n % 6`,
      [board.world.accountId, board.world.boardId, board.world.ownerId],
    );
  });

  test.each(['1', '20', '100'])(
    'a page of at most %s ideas says whether a next page exists, and has a cursor only if a next page exists',
    async perPage => {
      const size = Number(perPage);
      const first = (await board.list({ per_page: perPage })).body;
      expect(first).toMatchObject({ page: 1, per_page: size, has_more: true, next_cursor: expect.any(String) });
      expect(first.data).toHaveLength(size);
      const last = Math.ceil(105 / size);
      const end = (await board.list({ per_page: perPage, page: String(last) })).body;
      expect(end).toMatchObject({ page: last, has_more: false, next_cursor: null });
      expect(end.data).toHaveLength(105 - (last - 1) * size);
      const beyond = (await board.list({ per_page: perPage, page: String(last + 1) })).body;
      expect(beyond).toEqual({ data: [], page: last + 1, per_page: size, has_more: false, next_cursor: null });
    },
  );

  test('a full page with the last idea of the list of ideas says that there is no next page', async () => {
    const own = await openBoard();
    await insertTitles(own, ['a', 'b', 'c', 'd']);
    expect((await own.list({ per_page: '2', page: '2' })).body).toMatchObject({ has_more: false, next_cursor: null });
    expect((await own.list({ per_page: '4' })).body).toMatchObject({ has_more: false, next_cursor: null });
    expect((await own.list({ per_page: '3' })).body).toMatchObject({ has_more: true });
  });

  test.each([
    'per_page=0',
    'per_page=101',
    'per_page=-1',
    'per_page=1.5',
    'per_page=ten',
    'per_page=',
    'per_page=1e1',
    'per_page=%2B5',
    'per_page=5&per_page=6',
    'page=0',
    'page=-1',
    'page=1.5',
    'page=first',
    'page=',
    'page=1&page=2',
    'page=9007199254740992',
    'page=9007199254740991',
    'page=99999999999999999999',
    'limit=5',
    'offset=5',
  ])('a request for the list of ideas with the invalid query %s is rejected', async query => {
    const answer = await board.list(query);
    expect([answer.status, answer.key]).toEqual([422, 'validation_failed']);
    expect(answer.body.error.issues[0].path[0]).toBe('query');
  });

  test('a request for a page far beyond the last page of the list of ideas gets an empty page', async () => {
    const answer = await board.list({ page: '90071992547409', per_page: '100' });
    expect(answer).toMatchObject({ status: 200, body: { data: [], has_more: false } });
  });

  /** Reads all pages of a list by following the cursor of each page. Calls the function `between` after each page. */
  async function walk(query: Record<string, string>, between: () => Promise<unknown> = async () => {}, of = board) {
    const seen: { id: number }[] = [];
    let cursor: string | null = null;
    do {
      const answer = await of.list(cursor === null ? query : { ...query, cursor });
      expect(answer.status).toBe(200);
      const { data, page, per_page, has_more, next_cursor } = answer.body;
      expect(page).toBe(cursor === null ? 1 : null);
      expect(per_page).toBe(Number(query.per_page));
      expect(has_more).toBe(next_cursor !== null);
      seen.push(...data);
      cursor = next_cursor;
      await between();
    } while (cursor !== null);
    return seen.map(({ id }) => id);
  }

  test.each([
    ['newest', {}],
    ['top', { sort: 'top' }],
    ['newest of the ideas with the status planned', { status: 'planned' }],
    ['top of the search results', { sort: 'top', q: 'idea' }],
    ['newest of the search results', { q: 'idea' }],
  ] as [string, Record<string, string>][])(
    'the pages of a list of ideas contain the same ideas in the same order if they are read by cursor or by number: %s',
    async (_, query) => {
      const whole: number[] = [];
      for (const page of ['1', '2']) {
        const { body } = await board.list({ ...query, per_page: '100', page });
        whole.push(...body.data.map(({ id }: { id: number }) => id));
      }
      expect(whole.length).toBeGreaterThan(10);
      expect(new Set(whole).size).toBe(whole.length);
      for (const perPage of ['1', '7', '100']) {
        if (perPage === '1' && whole.length > 50) continue;
        expect(await walk({ ...query, per_page: perPage })).toEqual(whole);
      }
    },
  );

  test.each(['newest', 'top'])(
    'a client that reads the list of ideas by cursor gets each existing idea exactly once while new ideas arrive: sorted by %s',
    async sort => {
      const own = await openBoard({}, 'write');
      const start = Date.now();
      const ids: number[] = [];
      for (let n = 0; n < 23; n++) {
        ids.push(await insertIdea(server, own.world, { title: `Old ${n}`, createdAt: new Date(start - (n % 7)) }));
      }
      const arrive = () =>
        Promise.all(
          ['A', 'B', 'C'].map(title =>
            request(server, 'POST /api/v1/ideas', { token: own.token, json: { title, body: 'New.' } }),
          ),
        );
      const seen = await walk({ sort, per_page: '5' }, arrive, own);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen.filter(id => ids.includes(id)).sort((a, b) => a - b)).toEqual(ids);
    },
  );

  test('the pages of the list of ideas can be read by cursor if the database has a time zone other than UTC', async () => {
    const db = await createTestDatabase();
    onTestFinished(() => db.drop());
    const outside = await connect(db.url);
    const name = new URL(db.url).pathname.slice(1);
    await outside.query(`alter database ${name} set timezone = 'Asia/Kathmandu'`);
    await outside.end();
    const far = await startServerForTest({ on: db });
    const own = await openBoard({}, 'read', far);
    const ids: number[] = [];
    for (let n = 0; n < 5; n++) {
      const createdAt = new Date(Date.parse('2026-03-14T09:26:53.589Z') - n);
      ids.push(await insertIdea(far, own.world, { createdAt }));
    }
    expect(await walk({ per_page: '2' }, undefined, own)).toEqual(ids);
    expect((await own.list()).body.data[0].created_at).toBe('2026-03-14T09:26:53.589Z');
  });

  test('a request for the list of ideas with an invalid cursor is rejected', async () => {
    const newest = (await board.list({ per_page: '5' })).body.next_cursor;
    const top = (await board.list({ per_page: '5', sort: 'top' })).body.next_cursor;
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const bad: [string, Record<string, string>][] = [
      ['of the other order', { cursor: newest, sort: 'top' }],
      ['of the other order', { cursor: top }],
      ['not encoded', { cursor: 'abc' }],
      ['empty', { cursor: '' }],
      ['cut off', { cursor: newest.slice(0, -4) }],
      ['too long', { cursor: 'a'.repeat(501) }],
      ['an object', { cursor: encode({ sort: 'newest' }) }],
      ['too few parts', { cursor: encode(['newest', '2026-03-14 09:00:00+00']) }],
      ['an invalid time', { cursor: encode(['newest', 'yesterday', 1]) }],
      ['an impossible time', { cursor: encode(['newest', '2026-13-45 09:00:00+00', 1]) }],
      ['an id that is a string', { cursor: encode(['newest', '2026-03-14 09:00:00+00', '1']) }],
      ['an id that is too large', { cursor: encode(['newest', '2026-03-14 09:00:00+00', 1e300]) }],
      ['a score that is a string', { cursor: encode(['top', 'high', 1]), sort: 'top' }],
      ['a score that is too large', { cursor: encode(['top', 2 ** 31, 1]), sort: 'top' }],
      ['a cursor of comments', { cursor: encode(['oldest', 0, 1]) }],
    ];
    for (const [what, query] of bad) {
      const answer = await board.list(query);
      expect([what, answer.status, answer.key]).toEqual([what, 422, 'validation_failed']);
      expect([what, answer.body.error.issues[0].path]).toEqual([what, ['query', 'cursor']]);
    }
  });

  test('a request for the list of ideas with both a page number and a cursor is rejected', async () => {
    const { next_cursor } = (await board.list({ per_page: '5' })).body;
    for (const page of ['1', '2']) {
      const answer = await board.list({ cursor: next_cursor, page });
      expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
    }
  });

  test("a request for the list of ideas with a cursor of another board's list still returns only ideas of the token's board", async () => {
    const other = await openBoard();
    await insertTitles(other, ['Only here']);
    const { next_cursor } = (await board.list({ per_page: '5', sort: 'top' })).body;
    const answer = await other.list({ cursor: next_cursor, sort: 'top' });
    for (const { title } of answer.body.data) expect(title).toBe('Only here');
  });
});

describe('the approval queue', () => {
  const pending = { moderation_state: 'pending' };

  test('the approval queue has exactly the pending ideas of the board, newest first, including ideas in hidden statuses', async () => {
    const board = await openBoard({ statuses: [...registry], preModeration: true }, 'moderate');
    await insertTitles(board, ['Published'], { status: 'new' });
    await insertTitles(board, ['Rejected'], { status: 'new', moderationState: 'rejected' });
    await insertTitles(board, ['second', 'third'], { status: 'new', moderationState: 'pending' });
    await insertTitles(board, ['first'], {
      status: 'spam',
      moderationState: 'pending',
      createdAt: new Date('2026-03-15'),
    });
    await insertTitles(await openBoard(), ['Elsewhere'], { moderationState: 'pending' });
    expect((await board.titles(pending)).sort()).toEqual(['first', 'second', 'third']);
    expect((await board.titles(pending))[0]).toBe('first');
    expect((await board.list(pending)).body.data[0]).toMatchObject({ moderation_state: 'pending' });
    expect(await board.titles()).toEqual(['Published']);
    expect(await board.titles({ ...pending, status: 'declined' })).toEqual(['first']);
    expect(await board.titles({ ...pending, status_key: 'new' })).toHaveLength(2);
    expect(await board.titles({ ...pending, q: 'thi' })).toEqual(['third']);
    expect(await board.titles({ ...pending, sort: 'top' })).toHaveLength(3);
    const first = (await board.list({ ...pending, per_page: '2' })).body;
    expect(first).toMatchObject({ has_more: true });
    expect(await board.titles({ ...pending, per_page: '2', cursor: first.next_cursor })).toHaveLength(1);
  });

  test('when a pending idea is published, it moves from the approval queue to the list of ideas', async () => {
    const board = await openBoard({}, 'moderate');
    const [id] = await insertTitles(board, ['Approved'], { moderationState: 'pending' });
    expect(await board.titles(pending)).toEqual(['Approved']);
    await server.sql(`update ideas set moderation_state = 'published' where id = $1`, [id]);
    expect(await board.titles(pending)).toEqual([]);
    expect(await board.titles()).toEqual(['Approved']);
  });

  test('the list of ideas rejects every value of the parameter `moderation_state` except `pending`', async () => {
    const board = await openBoard({}, 'moderate');
    for (const moderation_state of ['published', 'rejected', '', 'PENDING']) {
      expect(await board.list({ moderation_state })).toMatchObject({ status: 422, key: 'validation_failed' });
    }
  });
});
