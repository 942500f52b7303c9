import { expect, test } from 'vitest';
import { operations } from '../../contract/index.ts';
import { useTools } from '../../contract/tools.ts';
import { readUsage, type Usage } from '../../server/domain/usage/read-usage.ts';
import { recordUsage, type Use } from '../../server/domain/usage/record-usage.ts';
import { buildUsageCounter } from '../../server/http/count-usage.ts';
import type { Principal } from '../../server/http/find-tokens.ts';
import { buildMetrics } from '../../server/observability/metrics.ts';
import { serveMetrics } from '../../server/observability/serve-metrics.ts';
import { cliOn } from '../cli/run-cli.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';
import { callTool, send } from '../mcp/call-tool.ts';

const db = await createDatabaseForFile();
const world = await createWorld(db);
const now = new Date();
const daysAgo = (days: number) => new Date(now.getTime() - days * 86_400_000);
const dayOf = (time: Date) => time.toISOString().slice(0, 10);
const today = dayOf(now);

const rowsOf = (tokenId: number) =>
  db.sql(
    'select operation, request_count as count, parameters, fields from token_usage where token_id = $1 order by 1',
    [tokenId],
  );

/**
 * Starts a server, sends requests to it and stops it. When a server stops, it writes its usage counts to the database.
 */
async function serve(work: (server: Awaited<ReturnType<typeof startServer>>) => Promise<unknown>) {
  const server = await startServer({ on: db, clock: { now: () => now } });
  try {
    await work(server);
  } finally {
    await server.close();
  }
}

test('when a server stops, it saves the operations that each token used, with the names of the known parameters and fields in the requests', async () => {
  const { id, token } = await issueToken(db, world, 'write');
  const other = await issueToken(db, world, 'read');
  await serve(async server => {
    await request(server, 'GET /api/v1/ideas?q=dark&sort=top', { token });
    await request(server, 'GET /api/v1/ideas?tag=1&unknown=1', { token });
    await request(server, 'HEAD /api/v1/ideas', { token: other.token });
    const json = { title: 'A', body: 'B', unknown: 1 };
    await request(server, 'POST /api/v1/ideas', { token, json, headers: { 'idempotency-key': 'a' } });
  });
  expect(await rowsOf(id)).toEqual([
    { operation: 'GET /api/v1/ideas', count: 2, parameters: { q: today, sort: today, tag: today }, fields: {} },
    {
      operation: 'POST /api/v1/ideas',
      count: 1,
      parameters: { 'idempotency-key': today },
      fields: { title: today, body: today },
    },
  ]);
  expect(await rowsOf(other.id)).toEqual([{ operation: 'GET /api/v1/ideas', count: 1, parameters: {}, fields: {} }]);
});

test('the usage statistics count a tool call for its operation and for the MCP endpoint, and count other MCP messages only for the endpoint', async () => {
  const { id, token } = await issueToken(db, world, 'read');
  const ideaId = await insertIdea(db, world);
  await serve(async server => {
    await callTool(server, { token, name: 'get_idea', args: { id: ideaId, expand: ['comments'] } });
    await callTool(server, { token, name: 'get_idea', args: { id: 'none' } });
    await callTool(server, { token, name: 'create_idea', args: { title: 'A', body: 'B' } });
    await send(server, { token, message: { jsonrpc: '2.0', id: 1, method: 'tools/list' } });
  });
  const message = { jsonrpc: today, id: today, method: today };
  expect(await rowsOf(id)).toEqual([
    { operation: 'GET /api/v1/ideas/{id}', count: 2, parameters: { expand: today }, fields: {} },
    { operation: 'POST /api/v1/mcp', count: 3, parameters: {}, fields: { ...message, params: today } },
  ]);
});

test('requests that fail authentication or authorization do not count in the usage statistics', async () => {
  const { id, token } = await issueToken(db, world, 'read');
  await serve(async server => {
    expect((await request(server, 'POST /api/v1/ideas', { token, json: { title: 'A', body: 'B' } })).status).toBe(403);
    expect((await request(server, 'GET /api/v1/board?board=other', { token })).status).toBe(403);
    expect((await request(server, 'GET /api/v1/board', { token: `${token}x` })).status).toBe(401);
  });
  expect(await rowsOf(id)).toEqual([]);
});

const useOf = (tokenId: number, changes: Partial<Use> = {}): Use => ({
  accountId: world.accountId,
  tokenId,
  operation: 'GET /api/v1/ideas',
  requestCount: 1,
  parameters: new Set(),
  fields: new Set(),
  ...changes,
});

test('if several servers save usage statistics in parallel, the request counts add up, and each parameter keeps the latest day of its use', async () => {
  const tokens = await Promise.all([1, 2, 3].map(() => issueToken(db, world, 'read')));
  const before = daysAgo(1);
  await recordUsage(
    db.database,
    tokens.map(({ id }) => useOf(id, { parameters: new Set(['q', 'sort']) })),
    before,
  );
  const uses = tokens.map(({ id }) => useOf(id, { requestCount: 2, parameters: new Set(['sort', 'tag']) }));
  await Promise.all([...Array(20).keys()].map(n => recordUsage(db.database, n % 2 ? uses : uses.toReversed(), now)));
  for (const { id } of tokens) {
    expect(await rowsOf(id)).toEqual([
      expect.objectContaining({ count: 41, parameters: { q: dayOf(before), sort: today, tag: today } }),
    ]);
  }
  const times = 'select token_id from token_usage where first_used_at = $1 and last_used_at = $2';
  expect(await db.sql(times, [before, now])).toHaveLength(tokens.length);
});

const principalOf = (tokenId: number) => ({ tokenId, account: { id: world.accountId } }) as Principal;

test('if the database fails, the usage counter saves its counts later, and counts of a deleted token do not prevent the counts of other tokens', async () => {
  const [kept, deleted] = [await issueToken(db, world, 'read'), await issueToken(db, world, 'read')];
  const warnings: unknown[] = [];
  const logger = { warn: (line: unknown) => warnings.push(line) };
  const counter = buildUsageCounter({ ...db, clock: { now: () => now }, logger: logger as never });
  const count = (tokenId: number, query: object) =>
    counter.count(principalOf(tokenId), operations.listIdeas, { query, headers: {}, body: undefined });
  count(kept.id, { q: 'a' });
  await db.sql('alter table token_usage rename to token_usage_away');
  await counter.flush();
  await db.sql('alter table token_usage_away rename to token_usage');
  expect(warnings).toHaveLength(1);
  count(kept.id, { sort: 'top' });
  count(deleted.id, {});
  await db.sql('delete from api_tokens where id = $1', [deleted.id]);
  await counter.close();
  expect(await rowsOf(kept.id)).toEqual([expect.objectContaining({ count: 2, parameters: { q: today, sort: today } })]);
});

test('the usage counter counts at most 10,000 pairs of a token and an operation until it saves them, and logs the number of uncounted requests', async () => {
  const warnings: unknown[] = [];
  const logger = { warn: (line: unknown) => warnings.push(line) };
  const counter = buildUsageCounter({ ...db, clock: { now: () => now }, logger: logger as never });
  const input = { query: null, headers: undefined, body: ['a'] };
  for (let n = 1; n <= 10_003; n += 1) counter.count(principalOf(1_000_000 + n), useTools, input);
  await counter.close();
  expect(warnings).toEqual([{ requests: 3 }]);
});

test('the usage report contains the parameters that clients sent in the last 90 days, but leaves out revoked and expired tokens', async () => {
  await db.sql('delete from token_usage');
  const [used, revoked, expired] = await Promise.all([1, 2, 3].map(() => issueToken(db, world, 'read')));
  if (!used || !revoked || !expired) throw new Error('a token is missing');
  await db.sql('update api_tokens set revoked_at = now() where id = $1', [revoked.id]);
  await db.sql(`update api_tokens set expires_at = now() - interval '1 hour' where id = $1`, [expired.id]);
  expect(await readUsage(db.database, now)).toEqual({
    from: now.toISOString(),
    to: now.toISOString(),
    is_complete: true,
    uses: [],
  });
  const long = daysAgo(100);
  await recordUsage(
    db.database,
    [useOf(used.id, { parameters: new Set(['q']) }), useOf(used.id, { operation: 'GET /old' })],
    long,
  );
  const uses = [used, revoked, expired].map(({ id }) => useOf(id, { parameters: new Set(['sort']) }));
  await recordUsage(db.database, uses, now);
  const document = {
    from: daysAgo(90).toISOString(),
    to: now.toISOString(),
    is_complete: true,
    uses: [
      {
        client: `token ${used.id} of account ${world.accountId}`,
        operation: 'GET /api/v1/ideas',
        requests: 2,
        last_used_at: now.toISOString(),
        parameters: ['sort'],
        fields: [],
      },
    ],
  };
  expect(await readUsage(db.database, now)).toEqual(document);

  const logger = { error: () => {} };
  const served = await serveMetrics(
    buildMetrics(),
    { ...db, logger: logger as never },
    { host: '127.0.0.1', port: 0, documents: { '/usage': () => readUsage(db.database, now) } },
  );
  const url = served.url.replace(/metrics$/, 'usage');
  const response = await fetch(url);
  expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
  expect(await response.json()).toEqual(document);
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  await served.close();

  const cli = cliOn(db.url);
  expect((await cli.json<Usage>('usage')).uses[0]).toMatchObject({
    operation: 'GET /api/v1/ideas',
    parameters: ['sort'],
  });
  expect((await cli.run('usage')).stdout).toMatch(/GET \/api\/v1\/ideas +2 .* sort/);
});
