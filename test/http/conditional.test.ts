import { beforeEach, describe, expect, test } from 'vitest';
import { testClock } from '../helpers/clock.ts';
import { createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { contentWrites, createTargets, ideaOf, reads, requestOf, type Targets } from '../helpers/operations.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';

let world: World;
let targets: Targets;
let token: string;
let tokenId: number;

const server = await startServerForFile({ clock: testClock() });
beforeEach(async () => {
  world = await createWorld(server);
  targets = await createTargets(server, world);
  ({ token, id: tokenId } = await issueToken(server, world, 'moderate'));
});

async function charged(): Promise<number> {
  const [row] = await server.sql<{ count: number }>('select count from rate_limits where key = $1', [
    `apitoken:read:${tokenId}`,
  ]);
  return row?.count ?? 0;
}

const ask = (line: string, ifNoneMatch?: string, by = token) =>
  request(server, line, { token: by, headers: ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch } });

describe.each(reads)('the operation $method $path', operation => {
  test("a read request with the current ETag in If-None-Match gets 304 without a body and does not count against the token's rate limit", async () => {
    const { line } = requestOf(operation, targets);
    const first = await ask(line);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^W\/"[\w-]+"$/);
    expect(first.headers.get('cache-control')).toBe('private, no-cache');
    expect((await ask(line)).headers.get('etag')).toBe(etag);
    expect(await charged()).toBe(2);

    for (const known of [etag, etag.slice(2), `"other", ${etag}`, `${etag},"other"`]) {
      const same = await ask(line, known);
      expect([known, same.status, same.text]).toEqual([known, 304, '']);
      expect(same.headers.get('etag')).toBe(etag);
      expect(same.headers.get('content-type')).toBeNull();
      expect(same.headers.get('x-ratelimit-remaining')).toBe(String(server.config.RATE_LIMIT_READ - 2));
    }
    expect(await charged()).toBe(2);

    for (const unknown of [
      '*',
      ' * ',
      '*, "other"',
      '"other"',
      'W/"other"',
      '',
      'W/""',
      etag.slice(3, -1),
      etag.toUpperCase(),
    ]) {
      expect([unknown, (await ask(line, unknown)).status]).toEqual([unknown, 200]);
    }
    expect(await charged()).toBe(11);
  });

  test('a HEAD request gets the same status and headers as a GET request, but no body, even if the answer is 304', async () => {
    const { line } = requestOf(operation, targets);
    const head = line.replace('GET', 'HEAD');
    const full = await ask(line);
    const empty = await ask(head);
    expect([empty.status, empty.text]).toEqual([200, '']);
    for (const name of ['etag', 'content-type', 'content-length', 'cache-control']) {
      expect([name, empty.headers.get(name)]).toEqual([name, full.headers.get(name)]);
    }
    const same = await ask(head, full.headers.get('etag') ?? '');
    expect([same.status, same.text, same.headers.get('etag')]).toEqual([304, '', full.headers.get('etag')]);
    expect(await charged()).toBe(2);
  });
});

test('a read request with "If-None-Match: *" never gets 304 and counts against the rate limit of its token', async () => {
  const limited = await startServerForTest({ on: server, clock: testClock(), environment: { RATE_LIMIT_READ: '5' } });
  const search = (ifNoneMatch: string) =>
    request(limited, 'GET /api/v1/ideas?q=idea', { token, headers: { 'if-none-match': ifNoneMatch } });
  const answers = await Promise.all(Array.from({ length: 12 }, () => search('*')));
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
  expect(await charged()).toBe(12);
});

test('two different searches without results have different ETags', async () => {
  const [one, other] = ['GET /api/v1/ideas?q=nowhere', 'GET /api/v1/ideas?q=neither'];
  const empty = await ask(one);
  expect(empty.body.data).toEqual([]);
  const etag = empty.headers.get('etag') ?? '';
  expect((await ask(other, etag)).status).toBe(200);
  expect(await charged()).toBe(2);
  expect((await ask(one, etag)).status).toBe(304);
  expect(await charged()).toBe(2);
});

test('the server compares the current ETag only with the first 20 ETags in If-None-Match', async () => {
  const line = `GET /api/v1/ideas/${targets.ideaId}`;
  const etag = (await ask(line)).headers.get('etag') ?? '';
  const others = (count: number) => Array.from({ length: count }, (_, n) => `"other ${n}"`);
  expect((await ask(line, [...others(19), etag].join(', '))).status).toBe(304);
  expect((await ask(line, [...others(20), etag].join(', '))).status).toBe(200);
  expect((await ask(line, `${'"",'.repeat(3_000)}${etag}`)).status).toBe(200);
});

test('a request for the page of a public board gets 200 with "If-None-Match: *", and 304 with its current ETag', async () => {
  await server.sql('update boards set is_public = true where id = $1', [world.boardId]);
  const line = `GET /b/${world.boardSlug}`;
  const page = await request(server, line, { headers: { 'if-none-match': '*' } });
  expect([page.status, page.text.includes('</html>')]).toEqual([200, true]);
  const same = await request(server, line, { headers: { 'if-none-match': page.headers.get('etag') ?? '' } });
  expect([same.status, same.text]).toEqual([304, '']);
});

test("an MCP tool call ignores If-None-Match and counts against the token's rate limit", async () => {
  const call = (headers: Record<string, string>) =>
    request(server, 'POST /api/v1/mcp', {
      token,
      headers,
      json: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_ideas', arguments: {} } },
    });
  const first = await call({});
  expect([first.status, first.headers.get('etag')]).toEqual([200, null]);
  expect((await call({ 'if-none-match': '*' })).status).toBe(200);
  expect(await charged()).toBe(2);
});

test('a read request with an old ETag gets 200 instead of 304 if a write has changed the answer since then', async () => {
  const changing: string[] = [];
  for (const operation of contentWrites) {
    const fresh = await createTargets(server, world);
    const { line, json } = requestOf(operation, fresh);
    const lists = ['GET /api/v1/ideas', `GET /api/v1/ideas/${fresh[ideaOf(operation)]}`];
    const before = await Promise.all(lists.map(one => ask(one)));
    expect((await request(server, line, { token, json })).status).toBeLessThan(300);
    const after = await Promise.all(lists.map(one => ask(one)));
    const repeated = await Promise.all(lists.map((one, n) => ask(one, before[n]?.headers.get('etag') ?? '')));
    const expected = after.map(({ status, text }, n) => (text === before[n]?.text ? 304 : status));
    expect([operation.id, ...repeated.map(({ status }) => status)]).toEqual([operation.id, ...expected]);
    if (expected.includes(200)) changing.push(operation.id);
  }
  expect(changing.length).toBeGreaterThan(8);
});

test("a request with the ETag of another token's answer gets 200 if the answers to the two tokens differ", async () => {
  const other = await issueToken(server, world, 'read');
  const line = `GET /api/v1/ideas/${targets.ideaId}`;
  await request(server, `POST /api/v1/ideas/${targets.ideaId}/vote`, { token, json: { value: 'up' } });
  const mine = (await ask(line)).headers.get('etag') ?? '';
  expect((await ask(line, mine, other.token)).body.my_vote).toBe('none');
});

test('error responses, answers to writes, and answers to GET /api/v1/token have no ETag', async () => {
  for (const line of ['GET /api/v1/ideas/999999999', 'GET /api/v1/ideas?page=0', 'GET /api/v1/token']) {
    const answer = await ask(line, '*');
    expect([line, answer.status === 304, answer.headers.get('etag')]).toEqual([line, false, null]);
  }
  const vote = await request(server, `POST /api/v1/ideas/${targets.ideaId}/vote`, {
    token,
    json: { value: 'up' },
    headers: { 'if-none-match': '*' },
  });
  expect([vote.status, vote.headers.get('etag')]).toEqual([200, null]);
  expect((await ask('GET /api/v1/board', '*', `${token}x`)).status).toBe(401);
});
