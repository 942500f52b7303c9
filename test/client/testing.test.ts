import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { IdeaBoard, isIdeaBoardError, type OperationId, verifyWebhook, type WebhookEvent } from '../../client/main.ts';
import { startTestServer, type TestServer, type TestServerOptions } from '../../client/testing/main.ts';
import { errors, keysIn } from '../../contract/errors.ts';
import { events, TestEvent } from '../../contract/events.ts';
import { operations } from '../../contract/index.ts';
import { statusExamples } from '../../contract/status.ts';
import { violationOf } from '../helpers/contract-check.ts';
import { createTag, createWorld, issueToken } from '../helpers/fixtures.ts';
import { type TestServer as RealServer, startServer } from '../helpers/server.ts';

async function startForTest(options?: TestServerOptions): Promise<TestServer> {
  const server = await startTestServer(options);
  onTestFinished(() => server.close());
  return server;
}

const clientOf = ({ baseUrl, token }: TestServer, options = {}) =>
  new IdeaBoard({ baseUrl, token, maxRetries: 0, ...options });

/** Returns the key of the error that a call throws, or 'none'. */
const keyOf = (call: PromiseLike<unknown>) =>
  call.then(
    () => 'none',
    (error: unknown) => (isIdeaBoardError(error) ? error.key : String(error)),
  );

describe('the answers of the test server', () => {
  interface Target {
    baseUrl: string;
    moderator: string;
    writer: string;
    reader: string;
    tagId: number;
  }

  let real: RealServer;
  let targets: [real: Target, forTests: Target];
  let forTests: TestServer;

  beforeAll(async () => {
    real = await startServer({ environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' } });
    const world = await createWorld(real);
    const tagId = await createTag(real, world.accountId, world.boardId);
    for (const { key, label, is_hidden, allow_votes, allow_comments } of statusExamples) {
      await real.sql(
        `update statuses set label = $3, is_hidden = $4, allow_votes = $5, allow_comments = $6
        where board_id = $1 and key = $2`,
        [world.boardId, key, label, is_hidden, allow_votes, allow_comments],
      );
    }
    const [moderator, writer, reader] = await Promise.all(
      (['moderate', 'write', 'read'] as const).map(
        async grant => (await issueToken(real, world, grant, { name: 'Release notes bot' })).token,
      ),
    );
    forTests = await startTestServer();
    targets = [
      { baseUrl: real.baseUrl, moderator: moderator ?? '', writer: writer ?? '', reader: reader ?? '', tagId },
      {
        baseUrl: forTests.baseUrl,
        moderator: forTests.token,
        writer: forTests.issueToken('write'),
        reader: forTests.issueToken('read'),
        tagId: 3,
      },
    ];
  });

  afterAll(async () => {
    await forTests.close();
    await real.close();
  });

  /**
   * A request that the test sends to the real server and to the test server. In the path and in the body, the words
   * first, second, memo, receiver and tag stand for ids.
   */
  interface Step {
    line: string;
    as?: 'moderator' | 'writer' | 'reader' | 'nobody';
    body?: unknown;
    text?: string;
    headers?: Record<string, string>;
  }

  /** A URL that refuses connections. */
  const hook = 'http://127.0.0.1:9/';

  const steps: Step[] = [
    { line: 'POST /api/v1/ideas', body: { title: '  Éxport a\nboard ', body: 'x'.repeat(400) } },
    { line: 'POST /api/v1/ideas', as: 'moderator', body: { title: 'Dark mode', body: 'For late evenings.' } },
    // The server records votes as events only after a client has asked for such events.
    { line: 'GET /api/v1/events?types=idea.voted' },
    { line: 'GET /api/v1/token', as: 'nobody' },
    { line: 'GET /api/v1/ideas?body=excerpt' },
    { line: 'GET /api/v1/ideas?per_page=1' },
    { line: 'GET /api/v1/ideas?per_page=1&page=2' },
    { line: 'GET /api/v1/ideas?per_page=0&page=2&cursor=x' },
    { line: 'GET /api/v1/ideas?cursor=x' },
    { line: 'GET /api/v1/ideas?q=exp%20bo' },
    { line: 'GET /api/v1/ideas?q=-' },
    { line: 'GET /api/v1/ideas?status=planned' },
    { line: 'GET /api/v1/ideas/similar' },
    { line: 'GET /api/v1/ideas/similar?title=Dark%20mode' },
    { line: 'GET /api/v1/ideas/similar?of=999999999' },
    { line: 'GET /api/v1/ideas?moderation_state=pending' },
    { line: 'GET /api/v1/ideas?moderation_state=pending', as: 'moderator' },
    { line: 'GET /api/v1/ideas?board=other' },
    { line: 'GET /api/v1/ideas?board=a&board=b' },
    { line: 'GET /api/v1/ideas?color=red' },
    { line: 'GET /api/v1/ideas?ids=second,first,second,999999999' },
    { line: 'GET /api/v1/ideas?ids=first&ids=second&body=excerpt' },
    { line: 'GET /api/v1/ideas?ids=first&page=1' },
    { line: 'GET /api/v1/ideas?ids=first,x' },
    { line: 'GET /api/v1/ideas?created_after=2026-01-01T00:00:00Z&updated_since=2026-01-01T00:00:00Z' },
    { line: 'GET /api/v1/ideas?created_before=2026-01-01T00:00:00Z' },
    { line: 'GET /api/v1/ideas?created_before=today' },
    { line: 'GET /api/v1/ideas?author=999999999' },
    { line: 'GET /api/v1/ideas?tag=tag' },
    { line: 'GET /api/v1/ideas?sort=updated' },
    { line: 'GET /api/v1/ideas?sort=trending&per_page=1' },
    { line: 'GET /api/v1/ideas?sort=unknown' },
    { line: 'GET /api/v1/ideas/first?expand=comments' },
    { line: 'GET /api/v1/ideas/first?expand=comments,votes' },
    { line: 'GET /api/v1/ideas/first?expand=comments,votes', as: 'moderator' },
    { line: 'GET /api/v1/ideas/first?expand=tags' },
    { line: 'GET /api/v1/ideas/first' },
    { line: 'HEAD /api/v1/ideas/first' },
    { line: 'GET /api/v1/ideas/999999999' },
    { line: 'GET /api/v1/ideas/one' },
    { line: 'GET /api/v1/ideas/99999999999999999999' },
    { line: 'GET /api/v1/nothing' },
    { line: 'PUT /api/v1/ideas' },
    { line: 'POST /api/v1/ideas', as: 'reader', body: { title: 'A', body: 'B' } },
    { line: 'POST /api/v1/ideas', body: { title: '', body: 'B', color: 'red' } },
    { line: 'POST /api/v1/ideas', text: '{' },
    { line: 'POST /api/v1/ideas', text: 'A', headers: { 'content-type': 'text/plain' } },
    { line: 'POST /api/v1/ideas', body: { title: 'A', body: 'B'.repeat(70_000) } },
    { line: 'POST /api/v1/ideas', body: { title: 'A', body: 'B' }, headers: { 'idempotency-key': 'two words' } },
    { line: 'POST /api/v1/ideas', body: { title: 'Once', body: 'B' }, headers: { 'idempotency-key': 'once' } },
    { line: 'POST /api/v1/ideas', body: { title: ' Once', body: 'B' }, headers: { 'idempotency-key': 'once' } },
    { line: 'POST /api/v1/ideas', body: { title: 'Twice', body: 'B' }, headers: { 'idempotency-key': 'once' } },
    { line: 'POST /api/v1/ideas/first/vote', body: { value: 'up' } },
    { line: 'POST /api/v1/ideas/second/vote', as: 'moderator', body: { value: 'up' } },
    { line: 'POST /api/v1/ideas/second/vote', body: { value: 'down' } },
    { line: 'POST /api/v1/ideas/second/vote', body: { value: 'sideways' } },
    { line: 'GET /api/v1/ideas/second/votes', as: 'moderator' },
    { line: 'GET /api/v1/ideas/second/votes?per_page=1', as: 'moderator' },
    { line: 'GET /api/v1/ideas/second/votes?per_page=1&page=2', as: 'moderator' },
    { line: 'GET /api/v1/ideas/second/votes' },
    { line: 'GET /api/v1/ideas/999999999/votes', as: 'moderator' },
    { line: 'GET /api/v1/ideas?sort=top' },
    { line: 'GET /api/v1/ideas?sort=trending' },
    { line: 'POST /api/v1/ideas/first/comments', body: { body: 'Please.' } },
    { line: 'POST /api/v1/ideas/first/comments', as: 'moderator', body: { body: 'Please!' } },
    { line: 'GET /api/v1/ideas?sort=comments' },
    { line: 'GET /api/v1/ideas/first?expand=votes,comments', as: 'moderator' },
    { line: 'GET /api/v1/ideas/first/comments' },
    { line: 'POST /api/v1/ideas/first/notes', body: { body: 'For the team.' } },
    { line: 'POST /api/v1/ideas/first/notes', as: 'moderator', body: { body: ' ' } },
    { line: 'POST /api/v1/ideas/first/notes', as: 'moderator', body: { body: ' For the team. ' } },
    { line: 'POST /api/v1/ideas/first/notes', as: 'moderator', body: { body: 'A second note.' } },
    { line: 'GET /api/v1/ideas/first/notes' },
    { line: 'GET /api/v1/ideas/first/notes', as: 'moderator' },
    { line: 'GET /api/v1/ideas/first/notes?per_page=1&page=2', as: 'moderator' },
    { line: 'GET /api/v1/ideas/999999999/notes', as: 'moderator' },
    { line: 'PATCH /api/v1/ideas/first/notes/memo', as: 'moderator', body: { body: 'For the team.' } },
    {
      line: 'PATCH /api/v1/ideas/first/notes/memo',
      as: 'moderator',
      body: { body: 'For all of us.', if_updated_at: '2020-01-01T00:00:00Z' },
    },
    { line: 'PATCH /api/v1/ideas/first/notes/memo', as: 'moderator', body: { body: 'For all of us.' } },
    { line: 'PATCH /api/v1/ideas/second/notes/memo', as: 'moderator', body: { body: 'Elsewhere.' } },
    { line: 'DELETE /api/v1/ideas/first/notes/memo' },
    { line: 'DELETE /api/v1/ideas/first/notes/memo', as: 'moderator' },
    { line: 'DELETE /api/v1/ideas/first/notes/memo', as: 'moderator' },
    { line: 'GET /api/v1/ideas/first/notes', as: 'moderator' },
    { line: 'POST /api/v1/ideas/first/status', body: { status: 'planned' } },
    { line: 'POST /api/v1/ideas/first/status', as: 'moderator', body: { status: 'planned' } },
    { line: 'POST /api/v1/ideas/first/status', as: 'moderator', body: { status: 'unheard-of' } },
    { line: 'GET /api/v1/ideas?status=planned' },
    { line: 'POST /api/v1/ideas/first/tags', as: 'moderator', body: { tag_id: 'tag' } },
    { line: 'GET /api/v1/ideas?tag=tag' },
    { line: 'GET /api/v1/ideas?sort=updated' },
    { line: 'POST /api/v1/ideas/first/tags', as: 'moderator', body: { tag_id: 999_999 } },
    { line: 'DELETE /api/v1/ideas/first/tags/tag', as: 'moderator' },
    { line: 'DELETE /api/v1/ideas/first/tags/tag', as: 'moderator' },
    { line: 'POST /api/v1/ideas/first/merge', as: 'moderator', body: { target_id: 'first' } },
    { line: 'POST /api/v1/ideas/first/merge', as: 'moderator', body: { target_id: 999_999_999 } },
    { line: 'POST /api/v1/ideas/first/merge', as: 'moderator', body: { target_id: 'second' } },
    { line: 'POST /api/v1/ideas/first/merge', as: 'moderator', body: { target_id: 'second' } },
    { line: 'POST /api/v1/ideas/second/merge', as: 'moderator', body: { target_id: 'first' } },
    { line: 'GET /api/v1/ideas/second' },
    { line: 'GET /api/v1/ideas/first/votes', as: 'moderator' },
    { line: 'GET /api/v1/ideas/second/votes', as: 'moderator' },
    { line: 'POST /api/v1/ideas/second/vote', body: { value: 'none' } },
    { line: 'POST /api/v1/ideas/first/vote', body: { value: 'none' } },
    { line: 'POST /api/v1/ideas/first/comments', body: { body: 'Too late.' } },
    { line: 'GET /api/v1/ideas' },
    { line: 'POST /api/v1/ideas/first/unmerge', as: 'moderator' },
    { line: 'POST /api/v1/ideas/first/unmerge', as: 'moderator' },
    { line: 'POST /api/v1/ideas/first/status', as: 'moderator', body: { status: 'archived' } },
    { line: 'GET /api/v1/ideas' },
    { line: 'POST /api/v1/ideas/first/vote', body: { value: 'up' } },
    { line: 'POST /api/v1/ideas/first/comments', body: { body: 'Archived.' } },
    { line: 'GET /api/v1/events?limit=100', as: 'reader' },
    { line: 'GET /api/v1/events?types=comment.created,idea.voted&limit=2&body=excerpt', as: 'reader' },
    { line: 'GET /api/v1/events?after=now&wait=1', as: 'reader' },
    { line: 'GET /api/v1/events?after=x', as: 'reader' },
    { line: 'GET /api/v1/events?types=idea.vanished&wait=56&limit=0', as: 'reader' },
    { line: 'GET /api/v1/webhooks' },
    { line: 'POST /api/v1/webhooks', body: { url: hook } },
    { line: 'POST /api/v1/webhooks', as: 'moderator', body: { url: hook, event_types: [], secret: 'x' } },
    { line: 'POST /api/v1/webhooks', as: 'moderator', body: { url: hook }, headers: { 'idempotency-key': 'hook' } },
    { line: 'POST /api/v1/webhooks', as: 'moderator', body: { url: hook }, headers: { 'idempotency-key': 'hook' } },
    { line: 'GET /api/v1/webhooks', as: 'moderator' },
    { line: 'GET /api/v1/webhooks/receiver', as: 'moderator' },
    { line: 'GET /api/v1/webhooks/999999999', as: 'moderator' },
    { line: 'PATCH /api/v1/webhooks/receiver', as: 'moderator', body: { enabled: false } },
    { line: 'POST /api/v1/webhooks/receiver/test', as: 'moderator' },
    { line: 'PATCH /api/v1/webhooks/receiver', as: 'moderator', body: { enabled: true, event_types: ['idea.voted'] } },
    { line: 'POST /api/v1/webhooks/receiver/rotate-secret?overlap_hours=0', as: 'moderator' },
    { line: 'POST /api/v1/webhooks/receiver/rotate-secret?overlap_hours=721', as: 'moderator' },
    { line: 'GET /api/v1/webhooks/receiver/deliveries?state=dead', as: 'moderator' },
    { line: 'GET /api/v1/webhooks/receiver/deliveries?state=lost', as: 'moderator' },
    { line: 'POST /api/v1/webhooks/receiver/deliveries/999999999/redeliver', as: 'moderator' },
    { line: 'POST /api/v1/webhooks/receiver/test', as: 'moderator' },
    { line: 'DELETE /api/v1/webhooks/receiver', as: 'moderator' },
    { line: 'DELETE /api/v1/webhooks/receiver', as: 'moderator' },
    { line: 'GET /health', as: 'nobody' },
  ];

  test('the server of @idea-board/testing answers requests with the same statuses, bodies and headers as the real server, apart from ids, times and names', async () => {
    const [ofReal, ofTests] = await Promise.all(targets.map(target => play(target)));
    const byLine = (answers: unknown[] = []) => answers.map((answer, index) => [steps[index]?.line, answer]);
    expect(byLine(ofTests)).toEqual(byLine(ofReal));
    expect(ofReal?.map(({ status }) => status)).toEqual(expect.arrayContaining([200, 201, 400, 401, 403, 404, 405]));
  });

  test('if a read sends the ETag of an earlier response, the test server answers 304 until the requested data changes', async () => {
    for (const target of targets) {
      const read = (etag = '') =>
        fetch(`${target.baseUrl}/api/v1/board`, {
          headers: { authorization: `Bearer ${target.reader}`, 'if-none-match': etag },
        });
      const etag = (await read()).headers.get('etag') ?? '';
      expect(etag).toMatch(/^W\/"[\w-]+"$/);
      expect((await read(etag)).status).toBe(304);
    }
    const etag = (await fetch(`${forTests.baseUrl}/api/v1/board`, bearer(forTests.token))).headers.get('etag') ?? '';
    forTests.board.name = 'Renamed';
    const { headers } = bearer(forTests.token);
    const changed = await fetch(`${forTests.baseUrl}/api/v1/board`, { headers: { ...headers, 'if-none-match': etag } });
    expect(changed.status).toBe(200);
  });

  const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });

  /**
   * Sends the requests of all steps to a server. Returns the responses without the ids, times and names that differ
   * between two servers.
   */
  async function play({ baseUrl, tagId, ...tokens }: Target) {
    const ids: Record<string, number> = { tag: tagId };
    const answers: { status: number; body: unknown; headers: unknown }[] = [];
    for (const { line, as = 'writer', body, text, headers } of steps) {
      const [method = '', path = ''] = line
        .split(' ')
        .map(word => word.replace(/first|second|memo|receiver|tag$/g, at => `${ids[at]}`));
      const json = JSON.stringify(body, (_, value) => ids[value] ?? value);
      const response = await fetch(baseUrl + path, {
        method,
        headers: {
          ...(as === 'nobody' ? {} : { authorization: `Bearer ${tokens[as]}` }),
          ...(body === undefined && text === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined && text === undefined ? {} : { body: text ?? json }),
      });
      const answered = await response.text();
      expect(
        violationOf(
          method === 'HEAD' ? 'GET' : method,
          path.split('?')[0] ?? '',
          response.status,
          answered,
          method === 'HEAD',
        ),
      ).toBeUndefined();
      const { id } = answered === '' ? { id: undefined } : JSON.parse(answered);
      if (response.status === 201 && path === '/api/v1/ideas') ids[ids.first === undefined ? 'first' : 'second'] ??= id;
      if (response.status === 201 && path.endsWith('/notes')) ids.memo ??= id;
      if (response.status === 201 && path === '/api/v1/webhooks') ids.receiver ??= id;
      answers.push({
        status: response.status,
        body: answered === '' ? '' : JSON.parse(answered, neutral),
        headers: Object.fromEntries(
          ['allow', 'cache-control', 'content-type', 'idempotency-replayed', 'x-ratelimit-reset'].map(name => [
            name,
            name === 'x-ratelimit-reset' ? response.headers.has(name) : response.headers.get(name),
          ]),
        ),
      });
    }
    return answers;
  }

  /** If a field has different values on two servers, returns the type of the value instead of the value. */
  function neutral(name: string, value: unknown): unknown {
    if (
      [
        'id',
        'idea_id',
        'merged_into_id',
        'carried_from_id',
        'url',
        'cursor',
        'next_cursor',
        'token_id',
        'secret',
        'event_id',
      ].includes(name)
    )
      return value === null ? null : typeof value;
    // In the changes of an event, `from` and `to` can be the id of a tag or an idea. The ids of the two servers differ,
    // so the test compares only their type.
    if (['from', 'to'].includes(name) && typeof value === 'number') return typeof value;
    if (['author', 'actor', 'issuer', 'board', 'slug', 'tags', 'boards'].includes(name))
      return Array.isArray(value) ? value.length : typeof value;
    return typeof value === 'string'
      ? value.replace(/board-\w+|web-app/g, 'BOARD').replace(/^\d{4}-.*Z$/, 'TIME')
      : value;
  }
});

describe('failures that a test plans', () => {
  const planned = Object.entries(operations).flatMap(([id, route]) => {
    const keys = Object.values(route.responses).flatMap(keysIn);
    return 'auth' in route.metadata && route.metadata.auth === 'none' ? [] : [{ id, route, keys }];
  });

  test('the test server can answer every operation with each error that the contract declares for the operation', async () => {
    const server = await startForTest();
    for (const { id, route, keys } of planned) {
      expect(keys.length).toBeGreaterThan(5);
      for (const key of keys as (keyof typeof errors)[]) {
        server.fail(id as OperationId, key as never);
        const path = route.path.replace(/:\w+/g, '1');
        const response = await fetch(server.baseUrl + path, { method: route.method });
        const text = await response.text();
        expect([id, response.status, JSON.parse(text).error.key]).toEqual([id, errors[key].status, key]);
        expect(violationOf(route.method, path, response.status, text)).toBeUndefined();
        expect(response.headers.get('retry-after')).toBe([429, 503].includes(response.status) ? '1' : null);
      }
    }
  });

  test('a failure that is planned on the test server happens once by default, and several failures of one operation happen in the planned order', async () => {
    const server = await startForTest();
    const client = clientOf(server);
    const create = () => keyOf(client.ideas.create({ title: 'A', body: 'B' }));
    server.fail('createIdea', 'board_frozen');
    server.fail('createIdea', 'user_blocked', { times: 2 });
    const seen = [];
    for (let count = 0; count < 4; count += 1) seen.push(await create());
    expect(seen).toEqual(['board_frozen', 'user_blocked', 'user_blocked', 'none']);
    expect((await client.ideas.list()).data).toHaveLength(1);
  });

  test('after a planned failure of the test server, the client repeats a request for a new idea, and the server creates only one idea', async () => {
    const server = await startForTest();
    const client = clientOf(server, { maxRetries: 2 });
    server.fail('createIdea', 'service_unavailable');
    server.fail('createIdea', 'connection_failed');
    const { attempts } = await client.ideas.create({ title: 'A', body: 'B' }).withResponse();
    expect(attempts).toBe(3);
    expect((await client.ideas.list()).data).toHaveLength(1);
  });

  test.each(['connection_failed', 'timed_out', 'unexpected_answer'] as const)(
    'if a test plans the failure %s on the test server, the client throws an error with this key',
    async key => {
      const server = await startForTest();
      server.fail('getBoard', key);
      expect(await keyOf(clientOf(server, { timeoutMs: 300 }).board.get())).toBe(key);
    },
  );
});

describe('the board of the test server', () => {
  test('the test server refuses writes on a frozen board, and ideas and votes outside their time windows', async () => {
    const server = await startForTest({ board: { slug: 'mobile', is_frozen: true } });
    const client = clientOf(server, { board: 'mobile' });
    const create = () => keyOf(client.ideas.create({ title: 'A', body: 'B' }));
    expect(await create()).toBe('board_frozen');
    server.board.is_frozen = false;
    server.board.submissions_open_at = '2999-01-01T00:00:00.000Z';
    expect(await create()).toBe('submissions_not_open_yet');
    server.board.submissions_open_at = null;
    expect(await create()).toBe('none');
    server.board.submissions_close_at = '2000-01-01T00:00:00.000Z';
    expect(await create()).toBe('submissions_closed');
    const { id } = (await client.ideas.list()).data[0] ?? { id: 0 };
    server.board.voting_open_at = '2999-01-01T00:00:00.000Z';
    expect(await keyOf(client.ideas.vote(id, { value: 'up' }))).toBe('voting_not_open_yet');
    server.board.voting_open_at = null;
    server.board.voting_close_at = '2000-01-01T00:00:00.000Z';
    expect(await keyOf(client.ideas.vote(id, { value: 'up' }))).toBe('voting_closed');
  });

  test('the test server adds the reply of a status change as an official comment, and a repeated identical request adds no second comment', async () => {
    const server = await startForTest();
    const { ideas } = clientOf(server);
    const { id } = await ideas.create({ title: 'A', body: 'B' });
    await ideas.comment(id, { body: 'Yes' });
    for (const status of ['planned', 'planned', 'done']) await ideas.setStatus(id, { status, reply: 'Thank you.' });
    const comments = await ideas.comments(id).toArray({ limit: 10 });
    expect(comments.map(({ body, official }) => [body, official])).toEqual([
      ['Yes', false],
      ['Thank you.', true],
      ['Thank you.', true],
    ]);
  });

  test('on a test server with pre-moderation, an idea by a token without the moderate grant is pending until the test approves it', async () => {
    const server = await startForTest({ board: { pre_moderation: true } });
    const [moderator, writer] = [clientOf(server), clientOf({ ...server, token: server.issueToken('write', 'Jun') })];
    const idea = await writer.ideas.create({ title: 'A', body: 'B' });
    expect(idea).toMatchObject({ moderation_state: 'pending', author: { name: 'Jun' } });
    await expect(writer.ideas.get(idea.id)).rejects.toMatchObject({ key: 'not_found' });
    await expect(moderator.ideas.vote(idea.id, { value: 'up' })).rejects.toMatchObject({ key: 'not_found' });
    await expect(moderator.ideas.setStatus(idea.id, { status: 'done' })).rejects.toMatchObject({
      key: 'idea_not_published',
    });
    expect((await moderator.ideas.list({ moderation_state: 'pending' })).data).toHaveLength(1);
    server.approve(idea.id);
    expect(await writer.ideas.get(idea.id)).toMatchObject({ moderation_state: 'published' });
  });

  test('on the test server, the user of a second token can comment right after the first user, and each token has its own vote', async () => {
    const server = await startForTest();
    const [ada, jun] = [clientOf(server), clientOf({ ...server, token: server.issueToken('write', 'Jun') })];
    const { id } = await ada.ideas.create({ title: 'A', body: 'B' });
    await ada.ideas.comment(id, { body: 'First' });
    await jun.ideas.comment(id, { body: 'Second' });
    const names = [];
    for await (const { author } of ada.ideas.comments(id, { per_page: 1 })) names.push(author.name);
    expect(names).toEqual(['Ada Osei', 'Jun']);
    await ada.ideas.vote(id, { value: 'up' });
    expect(await jun.ideas.vote(id, { value: 'up' })).toMatchObject({ score: 2 });
    expect((await jun.token.get()).issuer.name).toBe('Jun');
  });
});

describe('the webhooks of the test server', () => {
  /** Starts a receiver that verifies each webhook. The test sets the secret after the start. */
  async function startReceiver() {
    const received: WebhookEvent[] = [];
    const receiver = { secret: '', url: '', received };
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const body = Buffer.concat(chunks);
      received.push(await verifyWebhook(body, request.headers, receiver.secret));
      response.writeHead(received.at(-1)?.type === 'idea.voted' ? 500 : 204).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    return receiver;
  }

  test('for each change of the board, the test server sends a signed webhook event that matches the contract, in the order of the changes', async () => {
    const server = await startForTest();
    const receiver = await startReceiver();
    receiver.secret = server.sendWebhooksTo(receiver.url);
    const { ideas } = clientOf(server);
    const { id } = await ideas.create({ title: 'A', body: 'B' });
    const { id: target_id } = await ideas.create({ title: 'C', body: 'D' });
    await ideas.vote(id, { value: 'up' });
    await ideas.vote(id, { value: 'up' });
    await ideas.comment(id, { body: 'Yes' });
    await ideas.setStatus(id, { status: 'planned' });
    await ideas.merge(id, { target_id });
    await ideas.unmerge(id);
    const { id: commentId } = await ideas.comment(target_id, { body: 'Yes' });
    await ideas.editComment(target_id, commentId, { body: 'No' });
    await ideas.deleteComment(target_id, commentId);
    await ideas.addTag(id, { tag_id: 3 });
    await ideas.edit(id, { title: 'E', reason: 'Typing' });
    await ideas.delete(id);

    const deliveries = await server.deliveries();
    const types = Object.keys(events);
    expect(new Set(receiver.received.map(({ type }) => type))).toEqual(new Set(types));
    expect(deliveries.map(({ id, type }) => ({ id, type }))).toEqual(
      receiver.received.map(({ id, type }) => ({ id, type })),
    );
    expect(deliveries.filter(({ type }) => type === 'idea.voted')).toMatchObject([{ url: receiver.url, status: 500 }]);
    for (const { id: _, ...body } of receiver.received) {
      expect(z.strictObject(events[body.type as keyof typeof events].shape).parse(body)).toEqual(body);
    }
    const [, , , , changed] = receiver.received;
    expect(changed).toMatchObject({ data: { changes: [{ field: 'status_key', from: 'open', to: 'planned' }] } });
  });

  test('a webhook receiver can verify all deliveries of the test server: a test event, events after a secret rotation, and a redelivered event', async () => {
    const server = await startForTest();
    const receiver = await startReceiver();
    const { ideas, webhooks } = clientOf(server);
    const made = await webhooks.create({ url: receiver.url, event_types: ['idea.created'] });
    receiver.secret = made.secret ?? '';
    const test = await webhooks.test(made.id);
    expect(test).toMatchObject({ type: 'webhook.test', state: 'pending' });
    await server.deliveries();
    const { secret } = await webhooks.rotateSecret(made.id);
    await ideas.create({ title: 'A', body: 'B' });
    await server.deliveries();
    receiver.secret = secret ?? '';
    await webhooks.redeliver(made.id, test.id);
    await server.deliveries();
    expect(receiver.received.map(({ type }) => type)).toEqual(['webhook.test', 'idea.created', 'webhook.test']);
    expect(receiver.received[2]?.id).toBe(receiver.received[0]?.id);
    expect(await webhooks.deliveries(made.id).toArray({ limit: 9 })).toMatchObject([
      { type: 'idea.created', state: 'delivered', last_attempt: { status: 204 } },
      { type: 'webhook.test', state: 'delivered', attempt_count: 1 },
    ]);
    await webhooks.update(made.id, { enabled: false });
    expect(await keyOf(webhooks.test(made.id))).toBe('webhook_disabled');
    const plain = clientOf({ ...server, token: server.issueToken('moderate') });
    expect(await keyOf(plain.webhooks.list())).toBe('missing_capability');
    const able = clientOf({ ...server, token: server.issueToken('read', undefined, ['manage_webhooks']) });
    expect((await able.webhooks.list()).data).toHaveLength(1);
  });

  test("the test server can send the contract's example of every event type to a webhook receiver", async () => {
    const server = await startForTest();
    const receiver = await startReceiver();
    receiver.secret = server.sendWebhooksTo(receiver.url);
    for (const schema of [...Object.values(events), TestEvent]) {
      const type = schema.shape.type.value;
      server.sendExample(type);
      await server.deliveries();
      const { id: _, ...body } = receiver.received.at(-1) ?? {};
      expect([body]).toEqual((schema.meta() as { examples?: unknown }).examples);
    }
  });

  test('the test server records a delivery without an HTTP status if the webhook receiver is down', async () => {
    const server = await startForTest();
    server.sendWebhooksTo('http://127.0.0.1:1/');
    server.sendExample('webhook.test');
    expect(await server.deliveries()).toMatchObject([{ type: 'webhook.test', status: undefined }]);
  });
});
