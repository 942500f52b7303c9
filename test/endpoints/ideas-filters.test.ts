import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import {
  createBoard,
  createMember,
  createTag,
  createWorld,
  insertIdea,
  issueToken,
  setUpdatedAt,
  type World,
} from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { callTool } from '../mcp/call-tool.ts';

const clock = testClock('2026-03-14T09:26:53.589Z');
let server: TestServer;

beforeAll(async () => {
  server = await startServer({ clock });
});
afterAll(() => server.close());

type Query = Record<string, string | number>;

interface Board {
  world: World;
  token: string;
  list(query?: Query): ReturnType<typeof request>;
  titles(query?: Query): Promise<string[]>;
}

async function openBoard(grant: 'read' | 'moderate' = 'read'): Promise<Board> {
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, grant);
  const list: Board['list'] = (query = {}) =>
    request(server, `GET /api/v1/ideas?${new URLSearchParams(query as Record<string, string>)}`, { token });
  const titles: Board['titles'] = async query => {
    const answer = await list(query);
    expect(answer).toMatchObject({ status: 200 });
    return answer.body.data.map(({ title }: { title: string }) => title);
  };
  return { world, token, list, titles };
}

const at = (time: string) => `2026-03-14T${time}Z`;

/** Inserts an idea with the given columns. */
async function insert({ world }: Board, title: string, columns: Record<string, unknown> = {}): Promise<number> {
  const { status, ...others } = columns;
  const id = await insertIdea(server, world, { title, ...(status ? { status: String(status) } : {}) });
  for (const [name, value] of Object.entries(others)) {
    if (name === 'updated_at') await setUpdatedAt(server, id, String(value));
    else await server.sql(`update ideas set ${name} = $2 where id = $1`, [id, value]);
  }
  return id;
}

const tagIdea = ({ world }: Board, ideaId: number, tagId: number) =>
  server.sql('insert into idea_tags (account_id, idea_id, tag_id) values ($1, $2, $3)', [
    world.accountId,
    ideaId,
    tagId,
  ]);

describe('the orders of the list of ideas', () => {
  let board: Board;

  beforeAll(async () => {
    board = await openBoard('moderate');
    const hours = (time: string) => ({ created_at: at(time), updated_at: at(time) });
    await insert(board, 'oldest', { ...hours('01:00:00.000'), updated_at: at('08:00:00.000'), comment_count: 2 });
    await insert(board, 'planned', { status: 'planned', ...hours('02:00:00.000'), comment_count: 5 });
    await insert(board, 'newer', { ...hours('03:00:00.000'), up_count: 1 });
    await insert(board, 'newest', { ...hours('04:00:00.000'), comment_count: 2, down_count: 1 });
  });

  test.each([
    ['updated', ['oldest', 'newest', 'newer', 'planned']],
    ['comments', ['planned', 'newest', 'oldest', 'newer']],
    ['top', ['newer', 'planned', 'oldest', 'newest']],
    ['newest', ['newest', 'newer', 'planned', 'oldest']],
  ])(
    'the list of ideas in the sort order %s contains each idea on exactly one page, both with page numbers and with cursors',
    async (sort, titles) => {
      expect(await board.titles({ sort })).toEqual(titles);
      const byNumber = await Promise.all([1, 2].map(page => board.titles({ sort, per_page: 3, page })));
      expect(byNumber.flat()).toEqual(titles);
      const first = await board.list({ sort, per_page: 3 });
      const rest = await board.titles({ sort, per_page: 3, cursor: first.body.next_cursor });
      expect([...first.body.data.map(({ title }: { title: string }) => title), ...rest]).toEqual(titles);
    },
  );

  test('the sort order `trending` ranks an idea with twice the score like an idea one week newer, and moves ideas with negative scores down', async () => {
    const trending = await openBoard();
    const age = (days: number) => ({ created_at: new Date(clock.now().getTime() - days * 86_400_000) });
    await insert(trending, 'new without votes', age(0));
    await insert(trending, 'new and disliked', { ...age(0), down_count: 4 });
    await insert(trending, 'a week old with score 1', { ...age(7.1), up_count: 1 });
    await insert(trending, 'a week old with score 2', { ...age(6.9), up_count: 2 });
    await insert(trending, 'old and popular', { ...age(365), up_count: 1000 });
    await insert(trending, 'three weeks old with score 32', { ...age(21), up_count: 33, down_count: 1 });
    const expected = [
      'three weeks old with score 32',
      'a week old with score 2',
      'new without votes',
      'a week old with score 1',
      'new and disliked',
      'old and popular',
    ];
    expect(await trending.titles({ sort: 'trending' })).toEqual(expected);
    const first = await trending.list({ sort: 'trending', per_page: 2 });
    const rest = await trending.titles({ sort: 'trending', per_page: 100, cursor: first.body.next_cursor });
    expect(rest).toEqual(expected.slice(2));
  });

  test("for each doubling of an idea's score, the database function `idea_trend` adds exactly one week to its time, or subtracts a week if the score is negative", async () => {
    const week = 604_800;
    const rows = await server.sql<{ score: number; rank: string }>(
      `select score, idea_trend(score, '2026-01-01T00:01:00Z') as rank from unnest(array[-8, -1, 0, 1, 2, 4, 1024]) score`,
    );
    expect(rows.map(({ score, rank }) => [score, Number(rank)])).toEqual([
      [-8, 60 - 3 * week],
      [-1, 60],
      [0, 60],
      [1, 60],
      [2, 60 + week],
      [4, 60 + 2 * week],
      [1024, 60 + 10 * week],
    ]);
  });

  test('the list of ideas rejects a cursor that comes from a list in another sort order', async () => {
    for (const [sort, other] of [
      ['newest', 'updated'],
      ['top', 'comments'],
      ['trending', 'top'],
    ] as const) {
      const cursor = (await board.list({ sort, per_page: 1 })).body.next_cursor;
      expect(await board.list({ sort: other, cursor })).toMatchObject({ status: 422, key: 'validation_failed' });
    }
  });

  test.each(['oldest', 'score', '', 'Updated', 'newest,top'])(
    'the list of ideas rejects the unknown sort order %j',
    async sort => {
      expect(await board.list({ sort })).toMatchObject({ status: 422, key: 'validation_failed' });
    },
  );

  test('the approval queue can be sorted in every sort order', async () => {
    const queue = await openBoard('moderate');
    await insert(queue, 'first', { moderation_state: 'pending', created_at: at('01:00:00.000') });
    await insert(queue, 'second', { moderation_state: 'pending', created_at: at('02:00:00.000') });
    for (const sort of ['newest', 'top', 'updated', 'comments', 'trending']) {
      expect([sort, await queue.titles({ sort, moderation_state: 'pending' })]).toEqual([sort, ['second', 'first']]);
    }
  });
});

describe('the filters of the list of ideas by time', () => {
  let board: Board;

  beforeAll(async () => {
    board = await openBoard();
    for (const n of [1, 2, 3]) {
      const created = at(`0${n}:00:00.000`);
      await insert(board, `at ${n}`, { created_at: created, updated_at: n === 1 ? at('09:00:00.000') : created });
    }
  });

  test.each([
    ['created_after', at('02:00:00.000'), ['at 3']],
    ['created_after', at('01:59:59.999'), ['at 3', 'at 2']],
    ['created_before', at('02:00:00.000'), ['at 1']],
    ['created_before', at('02:00:00.001'), ['at 2', 'at 1']],
    ['updated_since', at('03:00:00.000'), ['at 3', 'at 1']],
    ['updated_since', at('03:00:00.001'), ['at 1']],
    ['updated_since', '2026-03-14T05:00:00+02:00', ['at 3', 'at 1']],
    ['updated_since', '2026-03-14T09:00:00Z', ['at 1']],
    ['updated_since', '2026-03-14t09:00:00z', ['at 1']],
    ['updated_since', at('09:00:00.001'), []],
  ])(
    'the list of ideas with the filter %s=%s contains exactly the matching ideas, to the millisecond',
    async (name, time, titles) => {
      expect(await board.titles({ [name]: time })).toEqual(titles);
    },
  );

  test('the time filters of the list of ideas can be combined with each other, with a sort order and with a cursor', async () => {
    const between = { created_after: at('00:30:00.000'), created_before: at('03:00:00.000') };
    expect(await board.titles(between)).toEqual(['at 2', 'at 1']);
    expect(await board.titles({ ...between, sort: 'updated' })).toEqual(['at 1', 'at 2']);
    expect(await board.titles({ ...between, updated_since: at('05:00:00.000') })).toEqual(['at 1']);
    const first = await board.list({ ...between, sort: 'updated', per_page: 1 });
    const cursor = first.body.next_cursor;
    expect(await board.titles({ ...between, sort: 'updated', per_page: 1, cursor })).toEqual(['at 2']);
  });

  test.each(['created_after', 'created_before', 'updated_since'])(
    'the filter %s of the list of ideas accepts only timestamps with a time zone, between the years 1970 and 9999',
    async name => {
      const invalid = [
        '',
        'yesterday',
        '2026-03-14',
        '2026-03-14T09:00:00',
        '2026-02-30T09:00:00Z',
        '2026-12-31T23:59:60Z',
        '1773480413',
      ];
      for (const value of [
        ...invalid,
        '0001-01-01T00:00:00+14:00',
        '1969-12-31T23:59:59Z',
        '9999-12-31T23:59:59-14:00',
      ]) {
        const answer = await board.list({ [name]: value });
        expect([value, answer.status, answer.key]).toEqual([value, 422, 'validation_failed']);
        expect(answer.body.error.issues).toMatchObject([{ path: ['query', name] }]);
      }
      expect((await board.list({ [name]: '9999-12-31T23:59:59Z' })).status).toBe(200);
    },
  );

  test('a status change moves an idea to the top of the list sorted by `updated`, and the filter `updated_since` then finds the idea', async () => {
    const own = await openBoard('moderate');
    const id = await insert(own, 'changed', { created_at: at('01:00:00.000'), updated_at: at('01:00:00.000') });
    await insert(own, 'unchanged', { created_at: at('02:00:00.000'), updated_at: at('02:00:00.000') });
    const since = clock.now().toISOString();
    expect(await own.titles({ updated_since: since })).toEqual([]);
    await request(server, `POST /api/v1/ideas/${id}/status`, { token: own.token, json: { status: 'planned' } });
    expect(await own.titles({ sort: 'updated' })).toEqual(['changed', 'unchanged']);
    expect(await own.titles({ updated_since: since })).toEqual(['changed']);
  });
});

describe('the filters of the list of ideas by tag and by author', () => {
  test('the filter `tag` of the list of ideas finds the ideas with this tag, in every sort order and together with other filters', async () => {
    const board = await openBoard();
    const tagId = await createTag(server, board.world.accountId, board.world.boardId);
    const otherTagId = await createTag(server, board.world.accountId, board.world.boardId);
    const ids = [];
    for (const n of [1, 2, 3, 4]) ids.push(await insert(board, `idea ${n}`, { up_count: n }));
    const [first = 0, second = 0, third = 0] = ids;
    for (const id of [first, third]) await tagIdea(board, id, tagId);
    await tagIdea(board, second, otherTagId);
    for (const sort of ['newest', 'top', 'updated', 'comments', 'trending']) {
      expect([sort, await board.titles({ tag: tagId, sort })]).toEqual([sort, ['idea 3', 'idea 1']]);
      expect(await board.titles({ tag: tagId, sort, per_page: 1, page: 2 })).toEqual(['idea 1']);
    }
    expect(await board.titles({ tag: tagId, q: '3' })).toEqual(['idea 3']);
    expect(await board.titles({ tag: tagId, author: board.world.ownerId })).toEqual(['idea 3', 'idea 1']);
    expect(await board.titles({ tag: tagId, status: 'planned' })).toEqual([]);
    const page = await board.list({ tag: tagId, per_page: 1 });
    expect(await board.titles({ tag: tagId, per_page: 1, cursor: page.body.next_cursor })).toEqual(['idea 1']);
  });

  test('the filter `author` of the list of ideas finds the ideas by this user, in every sort order and together with other filters', async () => {
    const board = await openBoard();
    const ada = await createMember(server, board.world.accountId, 'member');
    await insert(board, 'by Ada', { author_id: ada });
    await insert(board, 'also by Ada', { author_id: ada, status: 'planned' });
    await insert(board, 'by the owner');
    for (const sort of ['newest', 'top', 'updated', 'comments', 'trending']) {
      expect([sort, await board.titles({ author: ada, sort })]).toEqual([sort, ['also by Ada', 'by Ada']]);
    }
    expect(await board.titles({ author: ada, status: 'planned' })).toEqual(['also by Ada']);
    expect(await board.titles({ author: ada, q: 'also' })).toEqual(['also by Ada']);
    expect(await board.titles({ author: ada, per_page: 1, page: 2 })).toEqual(['by Ada']);
  });

  test("a board's list of ideas is empty if it is filtered by an unknown tag or author, another board's tag, or another account's author", async () => {
    const [board, other] = [await openBoard(), await openBoard()];
    await insert(board, 'own');
    const sibling = await createBoard(server, board.world.accountId);
    const ofSibling = await createTag(server, board.world.accountId, sibling.id);
    const elsewhere = await createTag(server, other.world.accountId, other.world.boardId);
    await tagIdea(other, await insert(other, 'elsewhere'), elsewhere);
    for (const tag of [ofSibling, elsewhere, 999_999_999]) expect(await board.titles({ tag })).toEqual([]);
    for (const author of [other.world.ownerId, 999_999_999]) expect(await board.titles({ author })).toEqual([]);
  });

  test('the filter by tag and the filter by author find a pending idea only in the approval queue, and never find a rejected idea', async () => {
    const board = await openBoard('moderate');
    const tagId = await createTag(server, board.world.accountId, board.world.boardId);
    const pending = await insert(board, 'pending', { moderation_state: 'pending' });
    const rejected = await insert(board, 'rejected', { moderation_state: 'rejected' });
    for (const id of [pending, rejected]) await tagIdea(board, id, tagId);
    const author = board.world.ownerId;
    expect(await board.titles({ tag: tagId })).toEqual([]);
    expect(await board.titles({ author })).toEqual([]);
    expect(await board.titles({ tag: tagId, moderation_state: 'pending' })).toEqual(['pending']);
    expect(await board.titles({ author, moderation_state: 'pending' })).toEqual(['pending']);
  });

  test.each(['tag', 'author'])(
    'the filter %s of the list of ideas rejects a value that cannot be an id',
    async name => {
      const board = await openBoard();
      for (const value of ['0', '-1', '1.5', 'export', '', '1,2', '9007199254740993']) {
        const answer = await board.list({ [name]: value });
        expect([value, answer.status, answer.key]).toEqual([value, 422, 'validation_failed']);
      }
    },
  );
});

describe('ideas by their ids', () => {
  const namesOf = ({ body }: { body: { data: { title: string }[] } }) => body.data.map(({ title }) => title);

  test('a request for ideas by their ids returns each of these ideas once, in the order of the requested ids, and skips unknown ids', async () => {
    const board = await openBoard();
    const [a, b, c] = [await insert(board, 'a'), await insert(board, 'b'), await insert(board, 'c')];
    const answer = await board.list({ ids: `${b},999999999,${c},${b},${a}` });
    expect(answer.status).toBe(200);
    expect(namesOf(answer)).toEqual(['b', 'c', 'a']);
    expect(answer.body).toMatchObject({ page: 1, per_page: 100, has_more: false, next_cursor: null });
    const one = await request(server, `GET /api/v1/ideas/${a}`, { token: board.token });
    expect((await board.list({ ids: a })).body.data).toEqual([one.body]);
    expect((await board.list({ ids: '999999999' })).body.data).toEqual([]);
  });

  test('a request for ideas by their ids can repeat the parameter `ids`, and an MCP tool call can pass an array of ids', async () => {
    const board = await openBoard();
    const ids = [await insert(board, 'a'), await insert(board, 'b')];
    const { token } = board;
    const repeated = await request(server, `GET /api/v1/ideas?ids=${ids[1]}&ids=${ids[0]}`, { token });
    expect(namesOf(repeated)).toEqual(['b', 'a']);
    const answer = await callTool(server, { token, name: 'list_ideas', args: { ids } });
    expect(namesOf({ body: answer.body.result.structuredContent })).toEqual(['a', 'b']);
  });

  test('a request for ideas by their ids also returns merged ideas and ideas in a hidden status, as a request for a single idea does', async () => {
    const board = await openBoard();
    const target = await insert(board, 'target');
    const merged = await insert(board, 'merged', { merged_into_id: target });
    const hidden = await insert(board, 'hidden', { status: 'archived' });
    await server.sql(`update statuses set is_hidden = true where board_id = $1 and key = 'archived'`, [
      board.world.boardId,
    ]);
    const answer = await board.list({ ids: `${merged},${hidden},${target}` });
    expect(namesOf(answer)).toEqual(['merged', 'hidden', 'target']);
    expect(answer.body.data[0].merged_into_id).toBe(target);
  });

  test('a request for ideas by their ids returns pending ideas only if the token and its issuer can moderate, and never returns rejected ideas', async () => {
    const board = await openBoard('moderate');
    const pending = await insert(board, 'pending', { moderation_state: 'pending' });
    const rejected = await insert(board, 'rejected', { moderation_state: 'rejected' });
    const ids = `${pending},${rejected}`;
    const issuerId = await createMember(server, board.world.accountId, 'member');
    const tokens = [
      await issueToken(server, board.world, 'write'),
      await issueToken(server, board.world, 'moderate', { issuerId }),
    ];
    expect(await board.titles({ ids })).toEqual(['pending']);
    for (const { token } of tokens) {
      const answer = await request(server, `GET /api/v1/ideas?ids=${ids}`, { token });
      expect(answer).toMatchObject({ status: 200, body: { data: [] } });
    }
  });

  test("a request for a board's ideas by their ids leaves out ideas of another board or account", async () => {
    const [board, other] = [await openBoard('moderate'), await openBoard()];
    const { world } = board;
    const { id: boardId } = await createBoard(server, world.accountId);
    const ofSibling = await insertIdea(server, { ...world, boardId }, { title: 'sibling' });
    const elsewhere = await insert(other, 'elsewhere');
    const own = await insert(board, 'own');
    expect(await board.titles({ ids: `${ofSibling},${elsewhere},${own}` })).toEqual(['own']);
  });

  test('a request for ideas by their ids accepts up to 100 ids, returns an empty list for no ids, and rejects values that are not ids', async () => {
    const board = await openBoard();
    const many = (count: number) => Array.from({ length: count }, (_, n) => n + 1).join();
    expect((await board.list({ ids: many(100) })).status).toBe(200);
    expect((await board.list({ ids: '' })).body.data).toEqual([]);
    const none = await callTool(server, { token: board.token, name: 'list_ideas', args: { ids: [] } });
    expect(none.body.result.structuredContent.data).toEqual([]);
    for (const ids of [many(101), ',', '1,', '1,x', '0', '-1', '1 2', '9007199254740993']) {
      const answer = await board.list({ ids });
      expect([ids, answer.status, answer.key]).toEqual([ids, 422, 'validation_failed']);
      expect(answer.body.error.issues[0].path.slice(0, 2)).toEqual(['query', 'ids']);
    }
  });

  test('a request for ideas by their ids can ask for shortened bodies, but rejects filters, sort orders and page parameters', async () => {
    const board = await openBoard('moderate');
    const id = await insert(board, 'long', { body: 'x'.repeat(400) });
    const { data } = (await board.list({ ids: id, body: 'excerpt', board: board.world.boardSlug })).body;
    expect([data[0].body.length, data[0].body_truncated]).toEqual([300, true]);
    const others: Query = {
      status: 'open',
      status_key: 'open',
      q: 'long',
      tag: 1,
      author: board.world.ownerId,
      created_after: at('00:00:00.000'),
      created_before: at('00:00:00.000'),
      updated_since: at('00:00:00.000'),
      sort: 'newest',
      moderation_state: 'pending',
      page: 1,
      per_page: 10,
      cursor: 'x',
    };
    for (const [name, value] of Object.entries(others)) {
      const answer = await board.list({ ids: id, [name]: value });
      expect([name, answer.status, answer.key]).toEqual([name, 422, 'validation_failed']);
      expect(answer.body.error.issues).toMatchObject([{ path: ['query', 'ids'] }]);
    }
  });
});
