import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { createTargets, operations, posts, reads, requestOf, type Targets, writes } from '../helpers/operations.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { type LoggedStatement, logStatements } from '../helpers/statement-log.ts';

let server: TestServer;
let world: World;
let targets: Targets;
let token: string;

beforeAll(async () => {
  server = await startServer();
  world = await createWorld(server);
  targets = await createTargets(server, world);
  ({ token } = await issueToken(server, world, 'moderate'));
});
afterAll(() => server.close());

const isControl = ({ text }: LoggedStatement) =>
  /^(begin|start transaction|commit|rollback|savepoint|release)\b/i.test(text);
const isAuthentication = ({ text }: LoggedStatement) => text.startsWith('with token as materialized');
const isWriting = ({ text }: LoggedStatement) =>
  /\b(insert into|update|delete from|cast_vote|begin_merge|end_merge)\b/i.test(
    text.replaceAll(/for (no key )?update/gi, ''),
  );

/**
 * Returns the SQL statements of one request in three groups: authentication, transaction control, and all other
 * statements (`work`).
 */
async function statementsOf(line: string, json?: unknown, headers: Record<string, string> = {}) {
  const { result, statements } = await logStatements(() => request(server, line, { token, json, headers }));
  const work = statements.filter(one => !isControl(one) && !isAuthentication(one));
  return {
    status: result.status,
    authentications: statements.filter(isAuthentication).length,
    work,
    statements,
    texts: work.map(({ text }) => text),
    control: statements.filter(isControl).map(({ text }) => text.toLowerCase()),
  };
}

/** Expects that all SQL statements that change rows ran in one transaction. */
function expectOneTransaction({ statements, control }: { statements: LoggedStatement[]; control: string[] }) {
  expect(control).toEqual(['begin', 'commit']);
  const begin = statements.findIndex(({ text }) => text.toLowerCase() === 'begin');
  const commit = statements.findIndex(({ text }) => text.toLowerCase() === 'commit');
  const connection = statements[begin]?.connection;
  expect(statements[commit]?.connection).toBe(connection);
  const outside = statements.filter(
    (one, n) => !isAuthentication(one) && isWriting(one) && !(n > begin && n < commit && one.connection === connection),
  );
  expect(outside).toEqual([]);
}

async function expectWrite(operation: (typeof writes)[number], most: number) {
  const { line, json } = requestOf(operation, await createTargets(server, world));
  const log = await statementsOf(line, json);
  expect(log.status).toBeLessThan(300);
  expect(log.authentications).toBe(1);
  expect(log.work.some(isWriting)).toBe(true);
  expect(log.texts.length, log.texts.join('\n')).toBeLessThanOrEqual(most);
  expectOneTransaction(log);
}

const [commentChanges, otherWrites] = [true, false].map(isWanted =>
  writes.filter(({ id, path }) => id !== 'voteIdea' && /:(commentId|noteId)/.test(path) === isWanted),
);

describe.each(otherWrites ?? [])('the operation $method $path', operation => {
  test('a write request other than a vote takes one transaction with at most five SQL statements, not counting the authentication', async () => {
    await expectWrite(operation, 5);
  });
});

describe.each(commentChanges ?? [])('the operation $method $path', operation => {
  test('an edit or deletion of a comment or note and its stored copies takes one transaction with at most eight SQL statements, not counting the authentication', async () => {
    await expectWrite(operation, 8);
  });
});

test('a vote takes only one SQL statement, not counting the authentication, and no explicit transaction', async () => {
  const line = `POST /api/v1/ideas/${targets.ideaId}/vote`;
  for (const value of ['up', 'up', 'down', 'none']) {
    const log = await statementsOf(line, { value });
    expect([log.status, log.authentications, log.control]).toEqual([200, 1, []]);
    expect(log.texts).toEqual([expect.stringContaining('cast_vote')]);
  }
});

describe.each(posts)('$method $path with an Idempotency-Key', operation => {
  test("the server stores the answer for an Idempotency-Key in the same transaction as the request's change", async () => {
    const { line, json } = requestOf(operation, await createTargets(server, world));
    const headers = { 'idempotency-key': `statements-${operation.id}` };
    const plain = operation.id === 'voteIdea' ? 1 : 5;
    const log = await statementsOf(line, json, headers);
    expect(log.status).toBeLessThan(300);
    expect(log.texts.length, log.texts.join('\n')).toBeLessThanOrEqual(plain + 3);
    expect(log.texts.at(-1)).toContain('insert into "idempotency_keys"');
    expectOneTransaction(log);

    // A repeated request reads the rate limit counter for the response headers, but does not increase it.
    const replay = await statementsOf(line, json, headers);
    expect([replay.status, replay.authentications, replay.control]).toEqual([log.status, 1, []]);
    expect(replay.texts).toEqual([expect.stringMatching(/^select "key", "count" from "rate_limits"/)]);
  });
});

describe.each(reads.filter(({ id }) => id !== 'findSimilarIdeas'))('the operation $method $path', operation => {
  // A list of ideas without a search text takes only one SQL statement.
  const mostOf = (query: string) => (operation.id === 'listIdeas' && !query.includes('q=') ? 1 : 2);

  test('a read request takes at most two SQL statements, not counting the authentication, and no transaction', async () => {
    const { line } = requestOf(operation, targets);
    const queries =
      operation.id === 'listIdeas' ? ['', '?q=idea', '?sort=top&page=2', '?moderation_state=pending'] : [''];
    // The first request that reads new events also assigns positions to these events, which takes two more statements.
    // So this first request is not measured.
    if (operation.id === 'listEvents') await request(server, line, { token });
    for (const query of queries) {
      const log = await statementsOf(line + query);
      expect([log.status, log.authentications, log.control]).toEqual([200, 1, []]);
      expect(log.texts.length).toBeGreaterThanOrEqual(1);
      expect(log.texts.length, log.texts.join('\n')).toBeLessThanOrEqual(mostOf(query));
    }
  });
});

test('a search for similar ideas takes two SQL statements: the first sets a time limit, and the second searches', async () => {
  const log = await statementsOf('GET /api/v1/ideas/similar?title=Dark');
  expect([log.status, log.authentications, log.control]).toEqual([200, 1, ['begin', 'commit']]);
  expect(log.texts).toEqual([expect.stringContaining('statement_timeout'), expect.stringContaining('similar_ideas')]);
});

test('a request with an insufficient grant or an invalid token takes only the SQL statement of the authentication', async () => {
  const reader = await issueToken(server, world, 'read');
  for (const operation of operations.filter(({ isWrite }) => isWrite)) {
    const { line, json } = requestOf(operation, targets);
    const { result, statements } = await logStatements(() => request(server, line, { token: reader.token, json }));
    expect(result.status).toBe(403);
    expect(statements.filter(one => !isAuthentication(one))).toEqual([]);
  }
  const nobody = await logStatements(() => request(server, 'GET /api/v1/board', { token: 'ib_1_x' }));
  expect([nobody.result.status, nobody.statements.length]).toEqual([401, 1]);
});

test('if a request sets an unknown status, the server rolls back the transaction and releases the database connection', async () => {
  const { line } = requestOf({ id: 'setIdeaStatus', method: 'POST', path: '/api/v1/ideas/:id/status' }, targets);
  for (let n = 0; n < 40; n++) {
    const log = await statementsOf(line, { status: 'unknown' });
    expect([log.status, log.control]).toEqual([422, ['begin', 'rollback']]);
  }
  await expect.poll(() => server.database.pool.totalCount - server.database.pool.idleCount).toBe(0);
});
