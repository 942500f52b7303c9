import { afterEach, expect, test } from 'vitest';
import { createBoard, createMember, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const memberId = await createMember(server, world.accountId, 'admin', 'Ada Osei');
const { token } = await issueToken(server, world, 'write', { issuerId: memberId });
afterEach(() => expectInvariants(server));

const comment = (ideaId: number, body: unknown, by = token) =>
  request(server, `POST /api/v1/ideas/${ideaId}/comments`, { token: by, json: { body } });
const list = (ideaId: number, query = '', by = token) =>
  request(server, `GET /api/v1/ideas/${ideaId}/comments${query}`, { token: by });
const stored = (ideaId: number) =>
  server.sql<{ author_id: number; body: string }>(
    'select author_id, body from comments where idea_id = $1 order by id',
    [ideaId],
  );

test('the author of a comment is the issuer of the token, and the stored comment equals the response', async () => {
  const ideaId = await insertIdea(server, world);
  const answer = await comment(ideaId, '  A semicolon would help.\n');
  expect(answer.status).toBe(201);
  expect(answer.body).toEqual({
    id: expect.any(Number),
    idea_id: ideaId,
    body: 'A semicolon would help.',
    author: { id: memberId, name: 'Ada Osei' },
    created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    updated_at: answer.body.created_at,
    official: false,
  });
  expect(await stored(ideaId)).toEqual([{ author_id: memberId, body: 'A semicolon would help.' }]);
  expect((await list(ideaId)).body.data).toEqual([answer.body]);
});

test('a new comment increases the comment count of the idea, and the commenter becomes a follower of the idea', async () => {
  const ideaId = await insertIdea(server, world);
  await comment(ideaId, 'First.');
  const idea = await request(server, `GET /api/v1/ideas/${ideaId}`, { token });
  expect(idea.body.comment_count).toBe(1);
  const followers = await server.sql('select user_id from followers where idea_id = $1', [ideaId]);
  expect(followers).toEqual([{ user_id: memberId }]);
});

test('the event of a new comment contains the same comment as the response, and the idea with the new comment count', async () => {
  const ideaId = await insertIdea(server, world);
  const answer = await comment(ideaId, 'First.');
  const events = await server.sql('select type, body from events where idea_id = $1', [ideaId]);
  expect(events).toMatchObject([
    { type: 'comment.created', body: { data: { comment: answer.body, idea: { id: ideaId, comment_count: 1 } } } },
  ]);
});

const combining = 'e\u0301';
const family = '👩‍👩‍👧‍👦';

test.each([
  ['one letter', 'x'],
  ['one emoji outside the basic plane', '🦄'],
  ['500 letters', 'x'.repeat(500)],
  ['500 emoji, which are 1,000 UTF-16 units and 2,000 bytes', '🦄'.repeat(500)],
  ['250 letters with a combining mark each, which are 500 code points', combining.repeat(250)],
  ['71 family emoji of 7 code points each and 3 letters, which are 500 code points', `${family.repeat(71)}xyz`],
  ['500 letters between white space', ` \n\t${'x'.repeat(500)}\u00a0 `],
])('the API accepts a comment of %s', async (_what, body) => {
  const ideaId = await insertIdea(server, world);
  const answer = await comment(ideaId, body);
  expect(answer.status).toBe(201);
  expect(answer.body.body).toBe(body.trim());
  expect(await stored(ideaId)).toEqual([{ author_id: memberId, body: body.trim() }]);
});

test.each([
  ['no text', ''],
  ['only white space', ' \n\t\u00a0\u3000'],
  ['only invisible characters', '\u200b\u00ad\u3164'],
  ['501 letters', 'x'.repeat(501)],
  ['501 emoji', '🦄'.repeat(501)],
  ['251 letters with a combining mark each, which are 502 code points', combining.repeat(251)],
  ['72 family emoji of 7 code points each, which are 504 code points', family.repeat(72)],
])('the API rejects a comment of %s', async (_what, body) => {
  const ideaId = await insertIdea(server, world);
  const before = await snapshot(server);
  const answer = await comment(ideaId, body);
  expect([answer.status, answer.key]).toEqual([422, 'validation_failed']);
  expect(answer.body.error.issues).toEqual([
    { path: ['body', 'body'], code: expect.any(String), message: expect.any(String) },
  ]);
  expect(await snapshot(server)).toEqual(before);
});

test('a comment is plain text, and markup in it is returned unchanged', async () => {
  const ideaId = await insertIdea(server, world);
  const body = '<b>bold</b> & *stars* \\n';
  expect((await comment(ideaId, body)).body.body).toBe(body);
});

test('an escape character in a comment is replaced by the replacement character, but line breaks and tabs are kept', async () => {
  const ideaId = await insertIdea(server, world);
  expect((await comment(ideaId, 'a\u001b[2Jb\n\tc')).body.body).toBe('a\ufffd[2Jb\n\tc');
  expect(await stored(ideaId)).toMatchObject([{ body: 'a\ufffd[2Jb\n\tc' }]);
});

test('a user cannot comment twice in a row on an idea, but can comment again after another user has commented', async () => {
  const ideaId = await insertIdea(server, world);
  const other = await issueToken(server, world, 'write');
  expect((await comment(ideaId, 'One.')).status).toBe(201);
  const before = await snapshot(server);
  const second = await comment(ideaId, 'Two.');
  expect([second.status, second.key]).toEqual([422, 'consecutive_comment']);
  expect(await snapshot(server)).toEqual(before);
  for (const by of [other.token, token, other.token]) expect((await comment(ideaId, 'Next.', by)).status).toBe(201);
  expect((await stored(ideaId)).map(({ author_id }) => author_id)).toEqual([
    memberId,
    world.ownerId,
    memberId,
    world.ownerId,
  ]);
  expect((await request(server, `GET /api/v1/ideas/${ideaId}`, { token })).body.comment_count).toBe(4);
});

test('a user cannot comment twice in a row on an idea through two tokens', async () => {
  const ideaId = await insertIdea(server, world);
  const second = await issueToken(server, world, 'moderate', { issuerId: memberId });
  expect((await comment(ideaId, 'One.')).status).toBe(201);
  expect((await comment(ideaId, 'Two.', second.token)).key).toBe('consecutive_comment');
  expect(await stored(ideaId)).toHaveLength(1);
});

test('a user can comment on two ideas in a row', async () => {
  const first = await insertIdea(server, world);
  const second = await insertIdea(server, world);
  expect((await comment(first, 'Here.')).status).toBe(201);
  expect((await comment(second, 'And there.')).status).toBe(201);
});

test('exactly one of 20 concurrent comments by one user through two tokens is stored', async () => {
  const ideaId = await insertIdea(server, world);
  const second = await issueToken(server, world, 'write', { issuerId: memberId });
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => comment(ideaId, `Number ${n}.`, n % 2 ? token : second.token)),
  );
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(422)]);
  expect(new Set(answers.map(({ key }) => key))).toEqual(new Set([undefined, 'consecutive_comment']));
  expect(await stored(ideaId)).toHaveLength(1);
  expect((await request(server, `GET /api/v1/ideas/${ideaId}`, { token })).body.comment_count).toBe(1);
});

test('concurrent comments by ten users on one idea are all stored and counted', async () => {
  const ideaId = await insertIdea(server, world);
  const tokens = await Promise.all(
    Array.from({ length: 10 }, async () => {
      const issuerId = await createMember(server, world.accountId, 'admin');
      return (await issueToken(server, world, 'write', { issuerId })).token;
    }),
  );
  const answers = await Promise.all(tokens.map(by => comment(ideaId, 'Me too.', by)));
  expect(answers.map(({ status }) => status)).toEqual(Array(10).fill(201));
  expect(await stored(ideaId)).toHaveLength(10);
  expect((await request(server, `GET /api/v1/ideas/${ideaId}`, { token })).body.comment_count).toBe(10);
});

test('an idea in a status that is closed for comments rejects new comments and shows the existing comments', async () => {
  const { id: boardId, slug } = await createBoard(server, world.accountId, {
    statuses: [
      { key: 'open', category: 'inbox', label: 'Open' },
      { key: 'quiet', category: 'active', label: 'Quiet', allowComments: false },
    ],
  });
  const board = { ...world, boardId, boardSlug: slug };
  const { token: moderator } = await issueToken(server, board, 'moderate');
  const ideaId = await insertIdea(server, board);
  expect((await comment(ideaId, 'Early.', moderator)).status).toBe(201);
  await request(server, `POST /api/v1/ideas/${ideaId}/status`, { token: moderator, json: { status: 'quiet' } });

  const other = await issueToken(server, board, 'write', { issuerId: memberId });
  const before = await snapshot(server);
  for (const by of [moderator, other.token]) {
    const refused = await comment(ideaId, 'Late.', by);
    expect([refused.status, refused.key]).toEqual([423, 'status_comments_closed']);
  }
  expect(await snapshot(server)).toEqual(before);
  expect((await list(ideaId, '', moderator)).body.data).toHaveLength(1);
});

test('a comment on a pending idea gets 404 if the token has the write grant, and 422 if the token has the moderate grant', async () => {
  const ideaId = await insertIdea(server, world, { moderationState: 'pending' });
  const moderator = await issueToken(server, world, 'moderate');
  const before = await snapshot(server);
  const unseen = await comment(ideaId, 'Hello?');
  expect([unseen.status, unseen.key]).toEqual([404, 'not_found']);
  const seen = await comment(ideaId, 'Hello?', moderator.token);
  expect([seen.status, seen.key]).toEqual([422, 'idea_not_published']);
  expect(await snapshot(server)).toEqual(before);
});

test('a merged idea rejects new comments and shows the existing comments', async () => {
  const ideaId = await insertIdea(server, world);
  const targetId = await insertIdea(server, world);
  const moderator = await issueToken(server, world, 'moderate');
  await comment(ideaId, 'Before the merge.');
  await request(server, `POST /api/v1/ideas/${ideaId}/merge`, {
    token: moderator.token,
    json: { target_id: targetId },
  });
  const before = await snapshot(server);
  const refused = await comment(ideaId, 'After the merge.', moderator.token);
  expect([refused.status, refused.key]).toEqual([422, 'idea_already_merged']);
  expect(await snapshot(server)).toEqual(before);
  expect((await list(ideaId)).body.data.map(({ body }: { body: string }) => body)).toEqual(['Before the merge.']);
  expect((await list(targetId)).body.data).toEqual([]);
});

async function ideaWithComments(count: number) {
  const ideaId = await insertIdea(server, world);
  await server.sql(
    `insert into comments (account_id, idea_id, author_id, body)
    select $1, $2, case when n % 2 = 0 then $3 else $4 end::bigint, 'Comment ' || n from generate_series(1, $5) n`,
    [world.accountId, ideaId, world.ownerId, memberId, count],
  );
  await server.sql('update ideas set comment_count = $2 where id = $1', [ideaId, count]);
  await server.sql(`insert into followers (idea_id, user_id, account_id) select $1, unnest($2::bigint[]), $3`, [
    ideaId,
    count > 0 ? [world.ownerId, memberId] : [],
    world.accountId,
  ]);
  return ideaId;
}

const bodiesOf = (answer: { body: { data: { body: string }[] } }) => answer.body.data.map(({ body }) => body);

test('the list of comments is sorted oldest first and has the fields page, per_page, has_more and next_cursor', async () => {
  const empty = await ideaWithComments(0);
  expect((await list(empty)).body).toEqual({ data: [], page: 1, per_page: 20, has_more: false, next_cursor: null });

  const ideaId = await ideaWithComments(21);
  const first = await list(ideaId);
  expect(first.status).toBe(200);
  expect(first.body).toMatchObject({ page: 1, per_page: 20, has_more: true, next_cursor: expect.any(String) });
  expect(bodiesOf(first)).toEqual(Array.from({ length: 20 }, (_, n) => `Comment ${n + 1}`));
  const second = await list(ideaId, '?page=2');
  expect(second.body).toMatchObject({ page: 2, per_page: 20, has_more: false, next_cursor: null });
  expect(bodiesOf(second)).toEqual(['Comment 21']);
  const third = await list(ideaId, '?page=3');
  expect(third.body).toEqual({ data: [], page: 3, per_page: 20, has_more: false, next_cursor: null });
});

test('a client that reads the comments of an idea by cursor gets each comment once, even if a comment is added in the meantime', async () => {
  const ideaId = await ideaWithComments(7);
  const seen: string[] = [];
  let answer = await list(ideaId, '?per_page=3');
  seen.push(...bodiesOf(answer));
  expect((await comment(ideaId, 'Added.', (await issueToken(server, world, 'write')).token)).status).toBe(201);
  while (answer.body.next_cursor) {
    answer = await list(ideaId, `?per_page=3&cursor=${answer.body.next_cursor}`);
    expect(answer.body.page).toBeNull();
    seen.push(...bodiesOf(answer));
  }
  expect(seen).toEqual([...Array.from({ length: 7 }, (_, n) => `Comment ${n + 1}`), 'Added.']);
});

test('the list of comments rejects a cursor of the list of ideas and a manipulated cursor', async () => {
  const ideaId = await ideaWithComments(3);
  const { next_cursor: ofComments } = (await list(ideaId, '?per_page=1')).body;
  await insertIdea(server, world);
  const cursors = [
    (await request(server, 'GET /api/v1/ideas?per_page=1', { token })).body.next_cursor,
    (await request(server, 'GET /api/v1/ideas?per_page=1&sort=top', { token })).body.next_cursor,
    ofComments.slice(1),
    'x',
    Buffer.from('["oldest",0]').toString('base64url'),
    Buffer.from('["oldest",0,"1"]').toString('base64url'),
    Buffer.from('["oldest",0,1e300]').toString('base64url'),
  ];
  for (const cursor of cursors) {
    expect(cursor).toEqual(expect.any(String));
    const answer = await list(ideaId, `?cursor=${cursor}`);
    expect([answer.status, answer.key, cursor]).toEqual([422, 'validation_failed', cursor]);
  }
  for (const sort of ['newest', 'top']) {
    const answer = await request(server, `GET /api/v1/ideas?sort=${sort}&cursor=${ofComments}`, { token });
    expect([answer.status, answer.key]).toEqual([422, 'validation_failed']);
  }
  expect((await list(ideaId, `?page=1&cursor=${ofComments}`)).key).toBe('validation_failed');
});

test('a request for the comments of an idea gets 404 if the idea is missing or the token cannot read it', async () => {
  const pending = await insertIdea(server, world, { moderationState: 'pending' });
  const rejected = await insertIdea(server, world, { moderationState: 'rejected' });
  const elsewhere = await insertIdea(server, await createWorld(server));
  const moderator = await issueToken(server, world, 'moderate');
  for (const [ideaId, by] of [
    [999_999_999, token],
    [pending, token],
    [rejected, moderator.token],
    [elsewhere, moderator.token],
  ] as const) {
    const answer = await list(ideaId, '', by);
    expect([answer.status, answer.key]).toEqual([404, 'not_found']);
  }
  expect((await list(pending, '', moderator.token)).status).toBe(200);
});

test('a token with the grant read can list comments but cannot add a comment', async () => {
  const ideaId = await ideaWithComments(1);
  const reader = await issueToken(server, world, 'read');
  expect(bodiesOf(await list(ideaId, '', reader.token))).toEqual(['Comment 1']);
  const refused = await comment(ideaId, 'Mine.', reader.token);
  expect([refused.status, refused.key]).toEqual([403, 'insufficient_scope']);
  expect(await stored(ideaId)).toHaveLength(1);
});

test('listing comments counts against the read rate limit, and adding a comment counts against the write rate limit', async () => {
  const ideaId = await ideaWithComments(1);
  const one = await issueToken(server, world, 'write');
  const policyOf = (answer: { headers: Headers }) => answer.headers.get('ratelimit-policy')?.split(';')[0];
  expect(policyOf(await list(ideaId, '', one.token))).toBe('"apitoken:read"');
  expect(policyOf(await comment(ideaId, 'Mine.', one.token))).toBe('"apitoken:write"');
  const counters = await server.sql(
    `select key, count from rate_limits where key like 'apitoken:%:' || $1 order by key`,
    [String(one.id)],
  );
  expect(counters).toEqual([
    { key: `apitoken:read:${one.id}`, count: 1 },
    { key: `apitoken:write:${one.id}`, count: 1 },
  ]);
});

test('a request for the comments of an idea with the current ETag gets 304 until a comment is added', async () => {
  const ideaId = await ideaWithComments(1);
  const first = await list(ideaId);
  const etag = first.headers.get('etag') ?? '';
  expect(etag).toMatch(/^W\/"/);
  const conditional = () =>
    request(server, `GET /api/v1/ideas/${ideaId}/comments`, { token, headers: { 'if-none-match': etag } });
  const same = await conditional();
  expect([same.status, same.text]).toEqual([304, '']);
  expect((await comment(ideaId, 'More.', (await issueToken(server, world, 'write')).token)).status).toBe(201);
  expect((await conditional()).status).toBe(200);
});
