import { hash } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { contract, type OperationId } from '../../contract/index.ts';
import { testClock } from '../helpers/clock.ts';
import { createBoard, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { waitForLockWaits } from '../helpers/lock-waits.ts';
import {
  type ArrangedRequest,
  createTargets,
  otherBody,
  posts,
  reads,
  requestOf,
  type Targets,
} from '../helpers/operations.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { snapshot } from '../helpers/snapshot.ts';
import { logStatements } from '../helpers/statement-log.ts';

const clock = testClock('2026-05-01T08:00:00Z');
let world: World;
let targets: Targets;
let token: string;
let tokenId: number;

const server = await startServerForFile({ clock });
beforeEach(async () => {
  clock.set('2026-05-01T08:00:00Z');
  world = await createWorld(server);
  targets = await createTargets(server, world);
  ({ token, id: tokenId } = await issueToken(server, world, 'moderate'));
});
afterEach(() => expectInvariants(server));

function send({ line, json }: ArrangedRequest, key: string, by = token): Promise<Answer> {
  return request(server, line, { token: by, json, headers: { 'idempotency-key': key } });
}

const create: ArrangedRequest = { line: 'POST /api/v1/ideas', json: { title: 'Once', body: 'And never again.' } };

/** Returns the digits of a number with percent-encoding, such as `%34%32` for 42. */
const encodeDigits = (id: number) => String(id).replaceAll(/\d/g, digit => `%3${digit}`);

/** Returns the number of requests that counted against the write rate limit of the token. */
async function charged(): Promise<number> {
  const [row] = await server.sql<{ count: number }>('select count from rate_limits where key = $1', [
    `apitoken:write:${tokenId}`,
  ]);
  return row?.count ?? 0;
}

const isReplayed = (answer: Answer) => answer.headers.get('idempotency-replayed') === 'true';
const storedKeys = () => server.sql('select path, key, status from idempotency_keys where token_id = $1', [tokenId]);

/**
 * Returns the text of an answer without the secret of a webhook. The answer to a repeated request does not contain the
 * secret either.
 */
const withoutSecret = ({ text }: Answer) => text.replace(/"secret":"whsec_[^"]+"/, '"secret":null');

/** Returns the name of a table that the operation changes. */
function tableOf({ id }: { id: string }): string {
  if (id === 'testWebhook' || id === 'redeliverWebhookDelivery') return 'webhook_deliveries';
  if (id === 'addNote') return 'idea_notes';
  return id.includes('Webhook') ? 'webhook_endpoints' : 'ideas';
}

/** Returns a valid request with the same path and a different body. */
function another(id: OperationId, { line, json = {} }: ArrangedRequest): ArrangedRequest {
  return { line, json: otherBody(contract[id], json) };
}

test('beyond the write rate limit, a failed request with an already used Idempotency-Key gets 429, and a repeated request still gets its first answer', async () => {
  await send(create, 'a-key');
  const after = await snapshot(server);
  await server.sql('update rate_limits set count = $2 where key = $1', [
    `apitoken:write:${tokenId}`,
    server.config.RATE_LIMIT_WRITE,
  ]);
  for (const json of [{ title: 'Another', body: 'Idea.' }, { title: '' }]) {
    const refused = await send({ ...create, json }, 'a-key');
    expect([refused.status, refused.key]).toEqual([429, 'rate_limited']);
    expect(refused.headers.get('retry-after')).toBe(refused.headers.get('x-ratelimit-reset'));
    expect(refused.body.error.details).toMatchObject({ limit: 'apitoken:write' });
  }
  expect((await send(create, 'a-key')).status).toBe(201);
  expect(await snapshot(server)).toEqual(after);
});

describe.each(posts.map((operation, n) => ({ ...operation, n })))('a repeated $method $path', operation => {
  test('a repeated request with the same Idempotency-Key gets the first answer again, changes nothing and does not count against the rate limit', async () => {
    const sent = requestOf(operation, targets);
    const first = await send(sent, 'a-key');
    expect(first.status).toBeLessThan(300);
    expect(isReplayed(first)).toBe(false);
    expect(await charged()).toBe(1);
    const after = await snapshot(server);
    for (let n = 0; n < 2; n++) {
      const replay = await send(sent, 'a-key');
      expect([replay.status, replay.text]).toEqual([first.status, withoutSecret(first)]);
      expect(isReplayed(replay)).toBe(true);
      expect(replay.headers.get('x-ratelimit-remaining')).toBe(first.headers.get('x-ratelimit-remaining'));
    }
    expect(await snapshot(server)).toEqual(after);
    expect(await charged()).toBe(1);
  });

  // Leaves out operations without a body, because two requests with the same path and no body cannot differ.
  if (operation.hasBody) {
    test("a different request with an already used Idempotency-Key is refused, changes nothing and counts against the token's rate limit", async () => {
      const sent = requestOf(operation, targets);
      await send(sent, 'a-key');
      const after = await snapshot(server);
      const refused = await send(another(operation.id, sent), 'a-key');
      expect([refused.status, refused.key]).toEqual([422, 'idempotency_key_reused']);
      expect(isReplayed(refused)).toBe(false);
      expect(await snapshot(server)).toEqual(after);
      expect(await charged()).toBe(2);
      expect(isReplayed(await send(sent, 'a-key'))).toBe(true);
    });
  }

  test("a repeated request with an Idempotency-Key gets the first answer again even if only one of the two requests names the token's only board", async () => {
    const sent = requestOf(operation, targets);
    const named = { ...sent, line: `${sent.line}?board=${world.boardSlug}` };
    for (const [key, first, second] of [
      ['unnamed-first', sent, named],
      ['named-first', named, sent],
    ] as const) {
      const answer = await send(first, key);
      const repeated = withoutSecret(answer);
      if (key === 'unnamed-first') expect(answer.status).toBeLessThan(300);
      const after = await snapshot(server);
      const again = await send(second, key);
      expect([isReplayed(again), again.status, again.text]).toEqual([answer.status < 300, answer.status, repeated]);
      expect(await snapshot(server)).toEqual(after);
    }
  });

  test("an invalid request with an already used Idempotency-Key gets its usual error and counts against the token's rate limit", async () => {
    const sent = requestOf(operation, targets);
    await send(sent, 'a-key');
    const after = await snapshot(server);
    const invalid = await send({ line: sent.line, json: { ...sent.json, extra: 1 } }, 'a-key');
    expect(invalid.key).toBe('validation_failed');
    expect(await charged()).toBe(2);
    expect(invalid.headers.get('x-ratelimit-remaining')).toBe(String(server.config.RATE_LIMIT_WRITE - 2));
    const [method = '', path = ''] = sent.line.split(' ');
    const malformed = await rawRequest(server, method, path, {
      token,
      body: '{',
      headers: { 'content-type': 'application/json', 'idempotency-key': 'a-key' },
    });
    expect(malformed.key).toBe('malformed_json');
    expect(await charged()).toBe(3);
    await server.sql(`update api_token_boards set level = 'read' where token_id = $1`, [tokenId]);
    await server.sql(`update api_tokens set capabilities = '{}' where id = $1`, [tokenId]);
    const refusal = operation.capability ? 'missing_capability' : 'insufficient_scope';
    expect((await send(sent, 'a-key')).key).toBe(refusal);
    expect(await charged()).toBe(4);
    await server.sql(`update api_token_boards set level = 'moderate' where token_id = $1`, [tokenId]);
    await server.sql(`update api_tokens set capabilities = '{manage_webhooks}' where id = $1`, [tokenId]);
    expect(await snapshot(server)).toEqual(after);
  });

  test('exactly one of 20 parallel requests with the same Idempotency-Key takes effect, and the others get the same answer or 409', async () => {
    const sent = requestOf(operation, targets);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(sent, 'a-key')));
    const original = answers.filter(answer => answer.status < 300 && !isReplayed(answer));
    expect(original).toHaveLength(1);
    const repeated = withoutSecret(original[0] as Answer);
    for (const answer of answers) {
      if (isReplayed(answer)) expect(answer.text).toBe(repeated);
      else if (answer.status < 300) expect(answer).toBe(original[0]);
      else expect([answer.status, answer.key]).toEqual([409, 'idempotency_key_in_use']);
    }
    expect(await storedKeys()).toHaveLength(1);
    const waiting = answers.filter(({ status }) => status === 409).length;
    expect(await charged()).toBe(1 + waiting);
    const replay = await send(sent, 'a-key');
    expect([isReplayed(replay), replay.text]).toEqual([true, repeated]);
  });

  test("if a request's change or answer cannot be stored, nothing changes, and a retry with the same Idempotency-Key can succeed later", async () => {
    const sent = requestOf(operation, targets);
    const before = await snapshot(server);
    await server.sql(`
      create or replace function fail() returns trigger language plpgsql as $$ begin raise 'not today'; end $$;
      create or replace function disconnect() returns trigger language plpgsql as $$
      begin perform pg_terminate_backend(pg_backend_pid()); return null; end $$`);
    const late = 'deferrable initially deferred';
    const changedTable = tableOf(operation);
    const faults = [
      ['the answer is refused', 'trigger failure before insert on idempotency_keys', 'internal_error'],
      ['the connection is lost', 'trigger failure after insert on idempotency_keys', 'service_unavailable'],
      [
        'the answer fails at the commit',
        `constraint trigger failure after insert on idempotency_keys ${late}`,
        'internal_error',
      ],
      [
        'the work fails at the commit',
        `constraint trigger failure after insert or update on ${changedTable} ${late}`,
        'internal_error',
      ],
    ] as const;
    // The first operation meets all faults. Each other operation meets one of them, in turn, because the same code
    // stores the answers of all operations.
    for (const [what, trigger, key] of faults.filter(
      (_, n) => operation.n === 0 || n === operation.n % faults.length,
    )) {
      const action = key === 'service_unavailable' ? 'disconnect' : 'fail';
      await server.sql(`create ${trigger} for each row execute function ${action}()`);
      const failed = await send(sent, 'a-key');
      await server.sql(`drop trigger failure on ${what.startsWith('the work') ? changedTable : 'idempotency_keys'}`);
      expect([what, failed.key]).toEqual([what, key]);
      expect([what, await snapshot(server)]).toEqual([what, before]);
    }
    const answer = await send(sent, 'a-key');
    expect([answer.status < 300, isReplayed(answer)]).toEqual([true, false]);
  });

  test('an error such as 423 for a frozen board is not stored for the Idempotency-Key, so a repeated request can succeed later', async () => {
    const sent = requestOf(operation, targets);
    if (operation.capability === null) {
      await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
      expect((await send(sent, 'a-key')).key).toBe('board_frozen');
      await server.sql('update boards set is_frozen = false where id = $1', [world.boardId]);
    }
    expect(await storedKeys()).toEqual([]);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, world.ownerId]);
    expect((await send(sent, 'a-key')).key).toBe('user_blocked');
    await server.sql('delete from user_blocks where account_id = $1', [world.accountId]);
    expect((await send({ ...sent, json: { ...sent.json, extra: 1 } }, 'a-key')).key).toBe('validation_failed');
    expect(await storedKeys()).toEqual([]);
    const answer = await send(sent, 'a-key');
    expect([answer.status < 300, isReplayed(answer)]).toEqual([true, false]);
  });

  test('a request with an invalid Idempotency-Key gets 422 and writes nothing', async () => {
    const { line, json } = requestOf(operation, targets);
    const [method = '', path = ''] = line.split(' ');
    const before = await snapshot(server);
    for (const key of ['', 'x'.repeat(256), 'a key', 'a\tkey', 'schlüssel', ['one', 'two']]) {
      const answer = await rawRequest(server, method, path, {
        token,
        body: JSON.stringify(json ?? {}),
        headers: { 'content-type': 'application/json', 'idempotency-key': key },
      });
      expect([key, answer.status, answer.key]).toEqual([key, 422, 'validation_failed']);
      expect(answer.body.error.issues[0].path).toEqual(['headers', 'idempotency-key']);
    }
    expect(await snapshot(server)).toEqual(before);
  });
});

test('an Idempotency-Key may have up to 255 printable ASCII characters', async () => {
  const printable = Array.from({ length: 94 }, (_, n) => String.fromCharCode(33 + n)).join('');
  for (const key of [
    printable.repeat(3).slice(0, 255),
    'x'.repeat(255),
    '0',
    "'; drop table ideas; --".replaceAll(' ', ''),
  ]) {
    expect((await send(create, key)).status).toBe(201);
    expect(isReplayed(await send(create, key))).toBe(true);
  }
});

test('a repeated request with an Idempotency-Key gets the answer that the previous server version stored, even if only one request names the board', async () => {
  const { text } = await send(create, 'an-answer');
  for (const [key, query] of [
    ['stored-without', {}],
    ['stored-with', { board: world.boardSlug }],
  ] as const) {
    const fingerprint = hash('sha256', JSON.stringify([null, query, create.json]), 'buffer');
    await server.sql(
      `insert into idempotency_keys (account_id, token_id, path, key, fingerprint, status, body, expires_at)
      values ($1, $2, '/api/v1/ideas', $3, $4, 201, $5, '2026-05-02T08:00:00Z')`,
      [world.accountId, tokenId, key, fingerprint, text],
    );
    for (const line of [create.line, `${create.line}?board=${world.boardSlug}`]) {
      const replay = await send({ ...create, line }, key);
      expect([isReplayed(replay), replay.status, replay.text]).toEqual([true, 201, text]);
    }
    const other = { ...create, json: { ...create.json, title: 'Twice' } };
    expect((await send(other, key)).key).toBe('idempotency_key_reused');
  }
});

test("if the previous server version stored an answer without the ideas' field `url`, a repeated request with its Idempotency-Key gets the answer with this field", async () => {
  const merge = { line: `POST /api/v1/ideas/${targets.ideaId}/merge`, json: { target_id: targets.targetId } };
  for (const [key, sent] of [
    ['created', create],
    ['merged', merge],
  ] as const) {
    const first = await send(sent, key);
    expect(first.status).toBeLessThan(300);
    const older = JSON.stringify(first.body, (name, value) =>
      ['url', 'body_truncated'].includes(name) ? undefined : value,
    );
    await server.sql('update idempotency_keys set body = $3 where token_id = $1 and key = $2', [tokenId, key, older]);
    const replay = await send(sent, key);
    expect([isReplayed(replay), replay.status, replay.text]).toEqual([true, first.status, first.text]);
  }
});

test('if a token has two boards, a repeated request with an Idempotency-Key gets the first answer again only if it names the same board', async () => {
  const other = await createBoard(server, world.accountId);
  await server.sql(
    `insert into api_token_boards (account_id, token_id, board_id, level) values ($1, $2, $3, 'moderate')`,
    [world.accountId, tokenId, other.id],
  );
  const on = (slug: string) => ({ ...create, line: `${create.line}?board=${slug}` });
  expect((await send(on(world.boardSlug), 'a-key')).status).toBe(201);
  expect((await send(on(other.slug), 'a-key')).key).toBe('idempotency_key_reused');
  expect((await send(create, 'a-key')).key).toBe('board_required');
  expect(isReplayed(await send(on(world.boardSlug), 'a-key'))).toBe(true);
});

test("a repeated MCP tool call with an idempotency key gets the first answer again even if its arguments are reordered and name the token's only board", async () => {
  const call = (given: Record<string, unknown>) =>
    request(server, 'POST /api/v1/mcp', {
      token,
      json: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { _meta: { 'idea-board/idempotency-key': 'a-key' }, name: 'create_idea', arguments: given },
      },
    });
  const { title, body } = create.json as { title: string; body: string };
  const first = await call({ title, body });
  const ideas = () => server.sql('select id from ideas where board_id = $1 order by id', [world.boardId]);
  const before = await ideas();
  const again = await call({ board: world.boardSlug, body, title });
  expect(again.body.result.structuredContent.id).toBe(first.body.result.structuredContent.id);
  expect(isReplayed(await send({ ...create, json: { body, title } }, 'a-key'))).toBe(true);
  expect(await ideas()).toEqual(before);
});

test('a repeated request with an Idempotency-Key gets the first answer again even if its body has a number in another notation or a duplicated field', async () => {
  const line = `/api/v1/ideas/${targets.ideaId}/merge`;
  const merge = (body: string) =>
    rawRequest(server, 'POST', line, {
      token,
      body,
      headers: { 'content-type': 'application/json', 'idempotency-key': 'a-key' },
    });
  const { targetId } = targets;
  const first = await merge(`{"target_id":${targetId}}`);
  expect(first.status).toBe(200);
  for (const body of [
    `{"target_id":${targetId}.0}`,
    `{"target_id":${targetId}e0}`,
    `{"target_id":1,"target_id":${targetId}}`,
    `{"target_id":"${targetId}"}`,
  ]) {
    const again = await merge(body);
    expect([body, isReplayed(again), again.text]).toEqual([body, true, first.text]);
  }
});

test('a repeated request with an Idempotency-Key gets the first answer again even if the order of its fields, its white space or its escapes differ', async () => {
  const first = await send(create, 'a-key');
  const same = [
    '{"body":"And never again.","title":"Once"}',
    ' {\n\t"title" : "Once" ,\r\n "body" : "And never again." } ',
    '{"title":"\\u004fnce","body":"And never again."}',
  ];
  for (const body of same) {
    const answer = await rawRequest(server, 'POST', '/api/v1/ideas', {
      token,
      body,
      headers: { 'content-type': 'application/json; charset=utf-8', 'idempotency-key': 'a-key' },
    });
    expect([isReplayed(answer), answer.text]).toEqual([true, first.text]);
  }
});

test("a repeated request with the same Idempotency-Key gets the first answer again, even if the board's data has changed since", async () => {
  const vote = { line: `POST /api/v1/ideas/${targets.ideaId}/vote`, json: { value: 'up' } };
  const first = await send(vote, 'a-key');
  const other = await issueToken(server, world, 'write');
  await request(server, vote.line, { token: other.token, json: { value: 'up' } });
  await request(server, vote.line, { token, json: { value: 'down' } });
  await server.sql('update boards set is_frozen = true where id = $1', [world.boardId]);
  const replay = await send(vote, 'a-key');
  expect([isReplayed(replay), replay.text]).toEqual([true, first.text]);
  const idea = await request(server, `GET /api/v1/ideas/${targets.ideaId}`, { token });
  expect(idea.body).toMatchObject({ my_vote: 'down', up_count: 1, down_count: 1 });
});

test('the error for a pending or missing idea is not stored for the Idempotency-Key, so a repeated request can succeed later', async () => {
  const pendingId = await insertIdea(server, world, { moderationState: 'pending' });
  const comment = { line: `POST /api/v1/ideas/${pendingId}/comments`, json: { body: 'Early.' } };
  expect((await send(comment, 'a-key')).key).toBe('idea_not_published');
  await server.sql(`update ideas set moderation_state = 'published' where id = $1`, [pendingId]);
  expect((await send(comment, 'a-key')).status).toBe(201);

  const missing = { line: `POST /api/v1/ideas/${pendingId + 1}/vote`, json: { value: 'up' } };
  expect((await send(missing, 'a-key')).status).toBe(404);
  expect(await insertIdea(server, world)).toBe(pendingId + 1);
  expect((await send(missing, 'a-key')).status).toBe(200);
});

test('an Idempotency-Key is valid for exactly 24 hours, and after this time a new request can use the same key', async () => {
  const first = await send(create, 'a-key');
  clock.advance(24 * 3_600_000 - 1);
  expect(isReplayed(await send(create, 'a-key'))).toBe(true);
  clock.advance(1);
  const second = await send(create, 'a-key');
  expect([second.status, isReplayed(second)]).toEqual([201, false]);
  expect(second.body.id).not.toBe(first.body.id);
  const replay = await send(create, 'a-key');
  expect([isReplayed(replay), replay.body.id]).toEqual([true, second.body.id]);
  clock.advance(24 * 3_600_000);
  const different = await send({ ...create, json: { ...create.json, title: 'Twice' } }, 'a-key');
  expect([different.status, isReplayed(different)]).toEqual([201, false]);
});

test('two tokens can use the same Idempotency-Key independently, even at the same time', async () => {
  const other = await issueToken(server, world, 'write');
  const holder = await server.database.pool.connect();
  let sent: Promise<Answer>[] = [];
  try {
    await holder.query('begin');
    await holder.query('select from boards where id = $1 for update', [world.boardId]);
    sent = [send(create, 'a-key'), send(create, 'a-key', other.token)];
    // The two requests use different tokens and run at the same time. Neither request may get 409.
    await waitForLockWaits(server, 2);
  } finally {
    await holder.query('rollback');
    holder.release();
  }
  const answers = await Promise.all(sent);
  expect(answers.map(answer => [answer.status, isReplayed(answer)])).toEqual(Array(2).fill([201, false]));
  expect(new Set(answers.map(({ body }) => body.id)).size).toBe(2);
  const theirs = await send(create, 'a-key', other.token);
  expect([isReplayed(theirs), theirs.text]).toEqual([true, answers[1]?.text]);
});

test('requests to two paths with the same Idempotency-Key are independent', async () => {
  for (const id of [targets.ideaId, targets.targetId]) {
    for (const action of [
      { line: `POST /api/v1/ideas/${id}/vote`, json: { value: 'up' } },
      { line: `POST /api/v1/ideas/${id}/comments`, json: { body: 'Here.' } },
    ]) {
      const answer = await send(action, 'a-key');
      expect([answer.status < 300, isReplayed(answer)]).toEqual([true, false]);
    }
  }
  expect(await storedKeys()).toHaveLength(4);
});

test('a repeated request with an Idempotency-Key gets the first answer again even if its path is spelled in another way', async () => {
  const { ideaId } = targets;
  const addNote = (id: string) => send({ line: `POST /api/v1/ideas/${id}/notes`, json: { body: 'Once.' } }, 'a-key');
  const first = await addNote(`${ideaId}`);
  for (const id of [`00${ideaId}`, encodeDigits(ideaId)]) {
    const again = await addNote(id);
    expect([id, isReplayed(again), again.body]).toEqual([id, true, first.body]);
  }
  expect(await storedKeys()).toMatchObject([{ path: `/api/v1/ideas/${ideaId}/notes` }]);
});

test('a repeated request with an Idempotency-Key gets an error instead of the first answer after its token was revoked or has lost the write grant', async () => {
  await send(create, 'a-key');
  await server.sql(`update api_token_boards set level = 'read' where token_id = $1`, [tokenId]);
  expect((await send(create, 'a-key')).key).toBe('insufficient_scope');
  await server.sql('update api_tokens set revoked_at = now() where id = $1', [tokenId]);
  expect((await send(create, 'a-key')).key).toBe('unauthorized');
});

test('if requests have no Idempotency-Key, the server stores no answer, and each repeated request takes effect', async () => {
  const ids = [
    await request(server, create.line, { token, json: create.json }),
    await request(server, create.line, { token, json: create.json }),
  ];
  expect(new Set(ids.map(({ body }) => body.id)).size).toBe(2);
  expect(await storedKeys()).toEqual([]);
});

test('the server ignores the Idempotency-Key of a request with a method other than POST', async () => {
  const removal = { line: `DELETE /api/v1/ideas/${targets.ideaId}/tags/${targets.assignedTagId}` };
  for (const key of ['a-key', 'a-key', 'not a key']) {
    for (const sent of [...reads.map(operation => requestOf(operation, targets)), removal]) {
      const answer = await send(sent, key);
      expect([sent.line, answer.status, isReplayed(answer)]).toEqual([sent.line, 200, false]);
    }
  }
  expect(await storedKeys()).toEqual([]);
});

test('a repeated request with an Idempotency-Key gets the first answer again even when the rate limit of the token is exhausted', async () => {
  const limited = await startServerForTest({ clock: testClock(), environment: { RATE_LIMIT_WRITE: '2' } });
  const { token: writer } = await issueToken(limited, await createWorld(limited), 'write');
  const post = (key: string) =>
    request(limited, create.line, { token: writer, json: create.json, headers: { 'idempotency-key': key } });
  const first = await post('one');
  expect((await post('two')).status).toBe(201);
  expect((await post('three')).key).toBe('rate_limited');
  const replay = await post('one');
  expect([replay.status, isReplayed(replay), replay.text]).toEqual([201, true, first.text]);
});

test("if a request's body arrives only after another request with the same Idempotency-Key was answered, both requests get the same answer", async () => {
  let first: Answer | undefined;
  const { result: replay, statements } = await logStatements(() =>
    rawRequest(server, 'POST', '/api/v1/ideas', {
      token,
      body: JSON.stringify(create.json),
      headers: { 'content-type': 'application/json', 'idempotency-key': 'a-key' },
      // The server has counted this request against the rate limit before the body of the request arrives. The function
      // below then sends another request with the same Idempotency-Key, and waits for its answer.
      beforeBody: async () => {
        await expect.poll(charged, { timeout: 10_000 }).toBe(1);
        first = await send(create, 'a-key');
      },
    }),
  );
  expect([isReplayed(replay), replay.text]).toEqual([true, first?.text]);
  expect(await charged()).toBe(1);
  // The server must lower the rate limit counter only after the commit. Before the commit, the statement that lowers
  // the counter would need a second database connection.
  const texts = statements.map(({ text }) => text);
  const refund = texts.findIndex(text => text.startsWith('update "rate_limits" set "count" = "count" - 1'));
  expect(refund).toBeGreaterThan(texts.lastIndexOf('commit'));
});
