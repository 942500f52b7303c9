import { afterAll, beforeEach, describe, expect, test } from 'vitest';
import { grants } from '../../contract/grants.ts';
import { testClock } from '../helpers/clock.ts';
import { createMember, createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';
import { callTool } from '../mcp/call-tool.ts';

const now = '2026-03-14T09:26:53.589Z';
const clock = testClock(now);

let world: World;
let token: string;

const server = await startServer({ clock });
beforeEach(async () => {
  clock.set(now);
  world = await createWorld(server);
  ({ token } = await issueToken(server, world, 'write'));
});
afterAll(async () => {
  await expectInvariants(server);
  await server.close();
});

const create = (json: unknown, by = token) => request(server, 'POST /api/v1/ideas', { token: by, json });
const valid = { title: 'Export a board as CSV', body: 'We report in a spreadsheet.' };
const stored = () =>
  server.sql<{ title: string; body: string }>('select title, body from ideas where board_id = $1 order by id', [
    world.boardId,
  ]);

describe('a created idea', () => {
  test("the response to a new idea equals the stored idea, with the first status of the category `inbox` and the token's issuer as author", async () => {
    const issuerId = await createMember(server, world.accountId, 'admin', 'Ada Osei');
    const own = await issueToken(server, world, 'write', { issuerId });
    const { status, body } = await create(valid, own.token);
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(Number),
      ...valid,
      body_truncated: false,
      status: 'open',
      status_key: 'open',
      status_category: 'inbox',
      status_label: 'open',
      moderation_state: 'published',
      score: 0,
      up_count: 0,
      down_count: 0,
      comment_count: 0,
      my_vote: 'none',
      tags: [],
      author: { id: issuerId, name: 'Ada Osei' },
      merged_into_id: null,
      created_at: now,
      updated_at: now,
      url: `${server.config.BASE_URL}/b/${world.boardSlug}/ideas/${body.id}`,
    });
    expect((await request(server, `GET /api/v1/ideas/${body.id}`, { token: own.token })).body).toEqual(body);
    expect(
      await server.sql('select account_id, author_id, moderation_state from ideas where id = $1', [body.id]),
    ).toEqual([{ account_id: world.accountId, author_id: issuerId, moderation_state: 'published' }]);
  });

  test('the REST API and the MCP server replace line breaks and tabs in a title with spaces before they trim and count the title', async () => {
    const ways = [
      async (title: string) => (await create({ ...valid, title })).body.title,
      async (title: string) => {
        const answer = await callTool(server, { token, name: 'create_idea', args: { ...valid, title } });
        return answer.body.result.structuredContent.title;
      },
    ];
    const full = 'x'.repeat(99);
    const titles = [
      ['one\ntwo', 'one two'],
      ['one\r\ntwo\rthree', 'one two three'],
      ['one\ttwo\vthree\ffour', 'one two three four'],
      ['one\u0085two\u2028three\u2029four', 'one two three four'],
      ['one\n\ntwo', 'one  two'],
      ['\u0085\r\n one \u2029\n', 'one'],
      // This title has 201 characters in the request. The server replaces its line break with one space, so it stores
      // 200 characters.
      [`${full}\r\n${full}y`, `${full} ${full}y`],
    ] as const;
    for (const way of ways) {
      for (const [title, expected] of titles) expect(await way(title)).toBe(expected);
    }
    const expected = titles.map(([, one]) => one);
    expect((await stored()).map(({ title }) => title)).toEqual([...expected, ...expected]);
    for (const title of ['\n\r\n', '\u0085\u2028', `${full}\r\n${full}yz`]) {
      expect(await create({ ...valid, title })).toMatchObject({ status: 422, key: 'validation_failed' });
    }
    const { body } = await create({ ...valid, body: 'One.\nTwo.' });
    expect(body.body).toBe('One.\nTwo.');
  });

  test('the author of a new idea is its only follower', async () => {
    const { body } = await create(valid);
    expect(await server.sql('select user_id, account_id from followers where idea_id = $1', [body.id])).toEqual([
      { user_id: world.ownerId, account_id: world.accountId },
    ]);
    expect(await server.sql('select from votes where idea_id = $1', [body.id])).toEqual([]);
  });

  test("a new idea gets the board's first status of the category `inbox`, even if the status is custom or hidden", async () => {
    const own = await createWorld(server, {
      statuses: [
        { key: 'planned', category: 'planned', label: 'Planned' },
        { key: 'triage', category: 'inbox', label: 'Triage', isHidden: true },
        { key: 'open', category: 'inbox', label: 'Open' },
      ],
    });
    const writer = await issueToken(server, own, 'write');
    expect((await create(valid, writer.token)).body).toMatchObject({ status: 'open', status_key: 'triage' });
    await server.sql(`update statuses set position = -1 where board_id = $1 and key = 'open'`, [own.boardId]);
    expect((await create(valid, writer.token)).body).toMatchObject({ status_key: 'open' });
  });

  test('a new idea is in the list of ideas immediately, also for a token with the read grant', async () => {
    const { body } = await create(valid);
    const reader = await issueToken(server, world, 'read');
    expect((await request(server, 'GET /api/v1/ideas', { token: reader.token })).body.data).toMatchObject([
      { id: body.id },
    ]);
  });
});

describe('the title and body of a new idea', () => {
  test('the title and body of a new idea are trimmed, but double spaces in the title and line breaks in the body are kept', async () => {
    const { body } = await create({
      title: '\t  Two  words \n',
      body: '\u00a0\u2003\n A line\n\n  another \r\n\ufeff',
    });
    expect(body).toMatchObject({ title: 'Two  words', body: 'A line\n\n  another' });
    expect(await stored()).toEqual([{ title: 'Two  words', body: 'A line\n\n  another' }]);
  });

  test.each([
    ['letters', 'a'],
    ['emoji, which are two UTF-16 units each', '😀'],
    ['combining marks', 'e\u0301'],
  ])(
    'a title can have 1 to 200 characters and a body 1 to 10,000, counted in code points: %s',
    async (_, character) => {
      const points = [...character].length;
      const of = (length: number) => character.repeat(length / points);
      const longest = { title: of(200), body: of(10_000) };
      const { status, body } = await create(longest);
      expect(status).toBe(201);
      expect(body).toMatchObject(longest);
      expect(await stored()).toEqual([longest]);
      expect((await create({ title: character, body: character })).status).toBe(201);

      for (const [field, text] of [
        ['title', `${longest.title}a`],
        ['body', `${longest.body}a`],
      ] as const) {
        const answer = await create({ ...valid, [field]: text });
        expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
        expect(answer.body.error.issues).toMatchObject([{ path: ['body', field] }]);
      }
      expect(await stored()).toHaveLength(2);
    },
  );

  test('the length limits for the title and body of an idea apply after trimming', async () => {
    expect((await create({ title: ` ${'a'.repeat(200)} `, body: `\n${'b'.repeat(10_000)}\n` })).status).toBe(201);
  });

  test.each([
    ['precomposed and decomposed letters', 'Caf\u00e9 Cafe\u0301'],
    ['right to left', 'שלום \u200fעולם\u200e'],
    ['joined emoji', '👩‍👩‍👧‍👦 🏳️‍🌈'],
    ['letters beyond the basic plane', '𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𠜎'],
    ['zero-width characters inside', 'a\u200bb\u2060c'],
    ['text like SQL or a template', `'); drop table ideas; -- \${x} {{y}} %s \\0`],
    ['text like HTML', '<script>alert("1")</script> &amp;'],
    ['a replacement character', 'a\ufffdb'],
    ['quotes and backslashes', `"'\\\``.concat('x')],
  ])('the title and body of a new idea are stored unchanged: %s', async (_, text) => {
    const { status, body } = await create({ title: text, body: text });
    expect(status).toBe(201);
    expect(body).toMatchObject({ title: text, body: text });
    expect(await stored()).toEqual([{ title: text, body: text }]);
    expect((await request(server, `GET /api/v1/ideas/${body.id}`, { token })).body.title).toBe(text);
  });

  test.each([
    ['in the middle', 'a\u0001b\u001b[31mc\u009b2Jd', 'a\ufffdb\ufffd[31mc\ufffd2Jd'],
    ['alone', '\u0007', '\ufffd'],
    ['at both ends', '\u007fa\u0080', '\ufffda\ufffd'],
    ['200 times', '\u001f'.repeat(200), '\ufffd'.repeat(200)],
  ])(
    'control characters other than white space in a title or body are replaced by the replacement character: %s',
    async (_, text, expected) => {
      const { status, body } = await create({ title: text, body: text });
      expect(status).toBe(201);
      expect(body).toMatchObject({ title: expected, body: expected });
      expect(await stored()).toEqual([{ title: expected, body: expected }]);
    },
  );

  test('a vertical tab or form feed in a body becomes a line break, and other line breaks and tabs are kept', async () => {
    const { body } = await create({ ...valid, body: 'a\vb\fc\td\r\ne\u0085f\u2028g' });
    expect(body.body).toBe('a\nb\nc\td\r\ne\u0085f\u2028g');
    expect((await create({ ...valid, body: '\v\f' })).key).toBe('validation_failed');
  });

  test.each([
    ['missing', {}],
    ['empty', { title: '', body: '' }],
    ['white space alone', { title: ' \n\t\u00a0', body: '\u2003' }],
    ['invisible characters alone', { title: '\u200b \u00ad', body: '\u3164\u2060' }],
    ['null', { title: null, body: null }],
    ['numbers', { title: 1, body: 2 }],
    ['arrays', { title: ['a'], body: ['b'] }],
    ['objects', { title: { a: 1 }, body: {} }],
    ['with a NUL character', { title: 'a\0b', body: '\0' }],
    ['with a lone surrogate', { title: 'a\ud800b', body: '\udc00' }],
  ])(
    'a new idea with invalid fields (%s) is rejected, the error lists each invalid field, and nothing is stored',
    async (_, json) => {
      const answer = await create(json);
      expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
      const fields = answer.body.error.issues.map(({ path }: { path: string[] }) => path.join('.'));
      expect(fields.sort()).toEqual(['body.body', 'body.title']);
      expect(await stored()).toEqual([]);
    },
  );

  test.each([
    ['status', 'planned'],
    ['author_id', 1],
    ['moderation_state', 'published'],
    ['board', 'other'],
    ['tags', []],
    ['created_at', now],
    ['__proto', {}],
  ])('a new idea with the unknown field %s is rejected', async (field, value) => {
    const answer = await create({ ...valid, [field]: value });
    expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
    expect(answer.body.error.issues).toMatchObject([{ path: ['body'], code: 'unrecognized_keys' }]);
    expect(answer.body.error.issues[0].message).toContain(field);
    expect(await stored()).toEqual([]);
  });
});

describe('a new idea on a board with pre-moderation', () => {
  const roles = ['owner', 'admin', 'moderator', 'member'] as const;
  const cases = [true, false].flatMap(isOn =>
    grants
      .filter(grant => grant !== 'read')
      .flatMap(grant => roles.map(role => ({ isOn, grant, role, state: stateOf(isOn, grant, role) }))),
  );

  function stateOf(isOn: boolean, grant: string, role: string) {
    return isOn && !(grant === 'moderate' && role !== 'member') ? 'pending' : 'published';
  }

  test.each(cases)(
    'an idea by a token with the grant $grant and an issuer with the role $role is $state if pre_moderation is $isOn',
    async ({ isOn, grant, role, state }) => {
      await server.sql('update boards set pre_moderation = $2 where id = $1', [world.boardId, isOn]);
      const issuerId = await createMember(server, world.accountId, 'admin');
      const own = await issueToken(server, world, grant, { issuerId });
      await server.sql('update memberships set role = $2 where user_id = $1', [issuerId, role]);
      const { status, body } = await create(valid, own.token);
      expect(status).toBe(201);
      expect(body).toMatchObject({ moderation_state: state, author: { id: issuerId } });
      const [row] = await server.sql('select moderation_state from ideas where id = $1', [body.id]);
      expect(row).toEqual({ moderation_state: state });
      const list = await request(server, 'GET /api/v1/ideas', { token });
      expect(list.body.data).toHaveLength(state === 'published' ? 1 : 0);
    },
  );

  test("a token with the write grant cannot read the pending idea that it created, but the token's issuer becomes a follower of the idea", async () => {
    await server.sql('update boards set pre_moderation = true where id = $1', [world.boardId]);
    const { body } = await create(valid);
    expect(await request(server, `GET /api/v1/ideas/${body.id}`, { token })).toMatchObject({ status: 404 });
    expect(await server.sql('select user_id from followers where idea_id = $1', [body.id])).toHaveLength(1);
  });
});

describe('the submission window and frozen boards', () => {
  const set = (column: string, value: unknown) =>
    server.sql(`update boards set ${column} = $2 where id = $1`, [world.boardId, value]);

  test('a frozen board answers 423 to a new idea, and nothing is stored', async () => {
    await set('is_frozen', true);
    for (const grant of ['write', 'moderate'] as const) {
      const own = await issueToken(server, world, grant);
      expect(await create(valid, own.token)).toMatchObject({ status: 423, key: 'board_frozen' });
    }
    expect(await stored()).toEqual([]);
    expect(await server.sql('select from followers where account_id = $1', [world.accountId])).toEqual([]);
    await set('is_frozen', false);
    expect((await create(valid)).status).toBe(201);
  });

  test("the submission window of a board opens and closes at the exact millisecond, even for a token of the account's owner", async () => {
    await set('submissions_open_at', '2026-03-14T10:00:00.000Z');
    await set('submissions_close_at', '2026-03-14T11:00:00.000Z');
    const owner = await issueToken(server, world, 'moderate');
    const admin = await issueToken(server, world, 'moderate', {
      issuerId: await createMember(server, world.accountId, 'admin'),
    });
    for (const [time, status, key] of [
      ['2026-03-14T09:59:59.999Z', 423, 'submissions_not_open_yet'],
      ['2026-03-14T10:00:00.000Z', 201, undefined],
      ['2026-03-14T10:59:59.999Z', 201, undefined],
      ['2026-03-14T11:00:00.000Z', 423, 'submissions_closed'],
      ['2099-01-01T00:00:00.000Z', 423, 'submissions_closed'],
    ] as const) {
      clock.set(time);
      const before = (await stored()).length;
      for (const by of [token, owner.token, admin.token]) {
        const answer = await create(valid, by);
        expect([time, answer.status, answer.key]).toEqual([time, status, key]);
      }
      expect((await stored()).length - before).toBe(status === 201 ? 3 : 0);
      // A token can read ideas while the submission window is closed.
      expect((await request(server, 'GET /api/v1/ideas', { token })).status).toBe(200);
    }
  });

  test('a submission window without an end stays open after its start, and a window without a start is open until its end', async () => {
    await set('submissions_open_at', now);
    clock.set('2999-01-01T00:00:00.000Z');
    expect((await create(valid)).status).toBe(201);
    await set('submissions_open_at', null);
    await set('submissions_close_at', now);
    clock.set('1999-01-01T00:00:00.000Z');
    expect((await create(valid)).status).toBe(201);
    clock.set(now);
    expect(await create(valid)).toMatchObject({ status: 423, key: 'submissions_closed' });
  });

  test('a new idea can be created while the voting window is closed', async () => {
    await set('voting_close_at', '2026-01-01T00:00:00.000Z');
    expect((await create(valid)).status).toBe(201);
  });
});

test('50 concurrent requests to create ideas create one idea each', async () => {
  const answers = await Promise.all([...Array(50).keys()].map(n => create({ ...valid, title: `Idea ${n}` })));
  expect(answers.map(({ status }) => status)).toEqual(Array(50).fill(201));
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(50);
  expect(new Set((await stored()).map(({ title }) => title)).size).toBe(50);
});
