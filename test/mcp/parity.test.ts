import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errors } from '../../contract/errors.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { connect } from '../helpers/database.ts';
import { type Answer, request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { callTool, type Form, forms } from './call-tool.ts';
import { buildCases, type Case, type Given, hasBody, tools } from './cases.ts';
import { makeScene, type Scene, sceneOf } from './scenes.ts';

/*
 * Two servers, each with a database of its own in which the same has happened. Whatever is sent to one as a request is sent
 * to the other as the call of a tool, and at every step both have to answer, keep, charge and tell the same.
 */

const clock = testClock('2026-03-14T09:00:00.000Z');
const environment = { PLANS_WITHOUT_AGENT_API: 'starter' };

const cases = buildCases();

let rest: TestServer;
let mcp: TestServer;

beforeAll(async () => {
  [rest, mcp] = await Promise.all([startServer({ clock, environment }), startServer({ clock, environment })]);
  const scenes = cases.map((one, n) => makeScene(sceneOf(n), one.grant) + one.sql(sceneOf(n))).join('');
  await Promise.all([rest.sql(scenes), mcp.sql(scenes)]);
});
afterAll(() => Promise.all([rest.close(), mcp.close()]));

test('every operation of a board and of the token is a tool', () => {
  expect(tools.map(({ metadata }) => metadata.tool.name)).toEqual([
    'get_board',
    'list_ideas',
    'get_idea',
    'create_idea',
    'vote_idea',
    'comment_on_idea',
    'list_comments',
    'set_idea_status',
    'add_idea_tag',
    'remove_idea_tag',
    'merge_ideas',
    'unmerge_idea',
    'get_token',
  ]);
});

const numbered = cases.map((one, n) => ({ ...one, n, tool: one.operation.metadata.tool.name }));

describe('as a request and as a tool alike', () => {
  test.each(numbered)('$tool $name', async ({ n, ...one }) => {
    const scene = sceneOf(n);
    // In turn, so that both eras, and what is plain in them and what is not, meet every kind of case.
    const form = forms[n % forms.length] as Form;
    const [ofRest, ofMcp] = await Promise.all([
      perform(rest, one, scene, given => sendRequest(one, scene, given)),
      perform(mcp, one, scene, given => sendCall(one, scene, given, form)),
    ]);

    if (one.key === undefined) expect(ofRest.answer.status).toBeLessThan(300);
    else expect(ofRest.answer).toMatchObject({ status: errors[one.key].status, key: one.key });
    expectSameAnswer(ofMcp.answer, ofRest.answer);
    expect(ofMcp.buckets).toEqual(ofRest.buckets);
    expect(ofMcp.audit).toEqual(ofRest.audit);
    expect(masked(ofMcp.events)).toEqual(masked(ofRest.events));
  });

  test('in the end every row and every job is the same', async () => {
    const [ofRest, ofMcp] = await Promise.all([dump(rest), dump(mcp)]);
    expect(ofMcp).toEqual(ofRest);
    expect(ofRest.events?.length).toBeGreaterThan(5);
    expect(ofRest.idempotency_keys?.length).toBeGreaterThan(5);
    expect(ofRest.jobs?.length).toBeGreaterThan(5);
  });
});

/** Does a case at one server. Answers what was answered, and what it left. */
async function perform(server: TestServer, one: Case, scene: Scene, send: (given: Given) => Promise<Answer>) {
  const { earlier, isKeyHeld, operation } = one;
  if (earlier) expect((await send(earlier(scene))).status).toBeLessThan(300);
  const told = server.auditLines.length;
  const given = one.given(scene);
  const holder = isKeyHeld ? await connect(server.url) : undefined;
  const lock = `${scene.tokenId} ${pathOf(operation.route.path, given.params)} ${one.idempotencyKey}`;
  await holder?.query('select pg_advisory_lock(hashtextextended($1, 0))', [lock]);
  const answer = await send(given);
  await holder?.end();
  return {
    answer,
    buckets: await server.sql(`select key, count from rate_limits where key like '%:${scene.tokenId}' order by key`),
    audit: readAudit(server.auditLines.slice(told)).map(({ time: _, request_id: __, ...line }) => line),
    events: await server.sql('select type, body from events where account_id = $1 order by type', [scene.accountId]),
  };
}

function pathOf(path: string, params: Record<string, unknown>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => String(params[name]));
}

function sendRequest({ operation: { route }, idempotencyKey }: Case, { token }: Scene, given: Given) {
  const query = new URLSearchParams(
    Object.entries(given.query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return request(rest, `${route.method} ${pathOf(route.path, given.params)}?${query}`, {
    token,
    ...(hasBody(route) ? { json: given.body } : {}),
    ...(idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}),
  });
}

function sendCall({ operation, idempotencyKey }: Case, { token }: Scene, given: Given, form: Form) {
  const { tagId, ...params } = given.params;
  return callTool(mcp, {
    token,
    form,
    name: operation.metadata.tool.name,
    args: { ...params, ...(tagId === undefined ? {} : { tag_id: tagId }), ...given.query, ...given.body },
    ...(idempotencyKey ? { meta: { 'idea-board/idempotency-key': idempotencyKey } } : {}),
  });
}

/** What comes before the operation is told by the status; everything else is a result, with what REST has as its body. */
function expectSameAnswer(ofMcp: Answer, ofRest: Answer) {
  for (const name of [
    'retry-after',
    'ratelimit',
    'ratelimit-policy',
    'x-ratelimit-remaining',
    'idempotency-replayed',
  ]) {
    expect([name, ofMcp.headers.get(name)]).toEqual([name, ofRest.headers.get(name)]);
  }
  if (ofRest.status === 401 || ofRest.status === 429) {
    expect(ofMcp).toMatchObject({ status: ofRest.status, key: ofRest.key, body: { id: 'call-1', jsonrpc: '2.0' } });
    return;
  }
  expect(ofMcp.status).toBe(200);
  const { content, structuredContent, isError } = ofMcp.body.result;
  const body = masked(ofRest.body);
  if (ofRest.status < 300) {
    expect(isError).toBeFalsy();
    expect(masked(structuredContent)).toEqual(body);
    expect(masked(JSON.parse(content[0].text))).toEqual(body);
    expect(content).toHaveLength(1);
    return;
  }
  expect(isError).toBe(true);
  expect(structuredContent).toBeUndefined();
  // What became query or body was an argument.
  const ofArguments = JSON.stringify(body).replace(/"path":\["(query|body)"/g, '"path":["arguments"');
  expect(JSON.parse(content[0].text)).toEqual(JSON.parse(ofArguments));
  // What to do about it.
  expect(content[1].text).toMatch(/^\w.{10,}\.$/);
}

/** Times are the database's own here and there, and the id of an event is drawn by lot. */
function masked(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return JSON.parse(
    text
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00(:00)?)?/g, 'a time')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'an id'),
  );
}

/** Every row of every table, and every job. */
async function dump({ sql }: TestServer): Promise<Record<string, unknown[]>> {
  const tables = await sql<{ name: string }>(
    `select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE' and table_name <> 'schema_migrations'`,
  );
  const selects = tables.map(
    ({ name }) => `select '${name}' as name, to_jsonb(t) - 'last_used_at' as row from ${name} t`,
  );
  const jobs = `select 'jobs', jsonb_build_object('task', t.identifier, 'payload', j.payload)
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id`;
  const rows = await sql<{ name: string; row: unknown }>([...selects, jobs].join(' union all '));
  const dumped: Record<string, unknown[]> = {};
  for (const { name, row } of rows) dumped[name] = [...(dumped[name] ?? []), masked(row)];
  for (const list of Object.values(dumped)) list.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  return dumped;
}
