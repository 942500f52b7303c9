import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { errors } from '../../contract/errors.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { connect } from '../helpers/database.ts';
import { type Given, operations } from '../helpers/operations.ts';
import { type Answer, type RequestOptions, request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { dump, expectSameAnswer, masked, pathOf, sendCall, sendRequest } from './both-ways.ts';
import { type Form, forms } from './call-tool.ts';
import { buildCases, buildSuccesses, type Case, keysOf, tools } from './cases.ts';
import { faults, mend } from './faults.ts';
import { makeScenes, type Scene, sceneOf } from './scenes.ts';

/*
 * Compares two servers with equal databases. One server gets HTTP requests, and the other gets the same input as tool
 * calls. After each step, both servers must have the same answers, rows, rate limit counters and audit entries.
 */

const clock = testClock('2026-03-14T09:00:00.000Z');
const environment = { PLANS_WITHOUT_AGENT_API: 'starter' };

const cases = buildCases();
/** A successful case of each operation, each with its own data. Only tests that change no data use these cases. */
const unchanging = buildSuccesses().map((one, n) => ({ one, scene: sceneOf(cases.length + n) }));

let rest: TestServer;
let mcp: TestServer;

beforeAll(async () => {
  [rest, mcp] = await Promise.all([startServer({ clock, environment }), startServer({ clock, environment })]);
  const scenes = cases.map((one, n) => ({ scene: sceneOf(n), grant: one.grant }));
  const more = unchanging.map(({ one, scene }) => ({ scene, grant: one.grant }));
  const changes = cases.map((one, n) => one.sql(sceneOf(n))).join('');
  for (const text of [makeScenes([...scenes, ...more]), changes]) await Promise.all([rest.sql(text), mcp.sql(text)]);
});
afterAll(() => Promise.all([rest.close(), mcp.close()]));

test('every operation of the API that needs a token is also an MCP tool', () => {
  const authenticated = operations.map(({ id }) => id);
  expect(tools.map(({ id }) => id)).toEqual(authenticated);
  const names = tools.map(({ metadata }) => metadata.tool.name);
  expect(new Set(names).size).toBe(authenticated.length);
  for (const name of names) expect(name).toMatch(/^[a-z]+(_[a-z]+)*$/);
});

const numbered = cases.map((one, n) => ({ ...one, n, tool: one.operation.metadata.tool.name }));

describe('requests and tool calls', () => {
  test.each(numbered)(
    'a call of the MCP tool $tool $name, and gets the same answer as the matching HTTP request',
    async ({ n, ...one }) => {
      const scene = sceneOf(n);
      // The cases alternate between the four forms of a tool call.
      const form = forms[n % forms.length] as Form;
      const [ofRest, ofMcp] = await Promise.all([
        perform(rest, one, scene, given => sendRequest(rest, one, scene, given)),
        perform(mcp, one, scene, given => sendCall(mcp, one, scene, given, form)),
      ]);

      if (one.key === undefined) expect(ofRest.answer.status).toBeLessThan(300);
      else expect(ofRest.answer).toMatchObject({ status: errors[one.key].status, key: one.key });
      expectSameAnswer(ofMcp.answer, ofRest.answer);
      expect(ofMcp.buckets).toEqual(ofRest.buckets);
      expect(ofMcp.audit).toEqual(ofRest.audit);
      expect(masked(ofMcp.events)).toEqual(masked(ofRest.events));
    },
  );

  test.each(faults)(
    'if $what, HTTP requests and tool calls for every affected operation get the error $key',
    async fault => {
      const { key, breaks, concerns } = fault;
      const concerned = unchanging.filter(({ one }) => concerns(one.operation));
      const told = [rest.auditLines.length, mcp.auditLines.length];
      await Promise.all([rest.sql(breaks), mcp.sql(breaks)]);
      const answers = await Promise.all(
        concerned.map(({ one, scene }, n) =>
          Promise.all([
            sendRequest(rest, one, scene, one.given(scene)),
            sendCall(mcp, one, scene, one.given(scene), forms[n % forms.length] as Form),
          ]),
        ),
      );
      await Promise.all([mend(rest, fault), mend(mcp, fault)]);

      for (const [n, [ofRest, ofMcp]] of answers.entries()) {
        const { id } = (concerned[n] as (typeof concerned)[number]).one.operation;
        expect([id, ofRest.status, ofRest.key]).toEqual([id, errors[key].status, key]);
        expectSameAnswer(ofMcp, ofRest);
        expect(ofMcp.body.error.message).toBe(ofRest.body.error.message);
      }
      expect(await countsOf(mcp, concerned)).toEqual(await countsOf(rest, concerned));
      expect(auditAfter(mcp, told[1])).toEqual(auditAfter(rest, told[0]));
    },
  );

  test('two servers have the same database rows and jobs after one gets all test cases as HTTP requests and the other as MCP tool calls', async () => {
    const [ofRest, ofMcp] = await Promise.all([dump(rest), dump(mcp)]);
    expect(ofMcp).toEqual(ofRest);
    expect(ofRest.events?.length).toBeGreaterThan(5);
    expect(ofRest.idempotency_keys?.length).toBeGreaterThan(5);
    expect(ofRest.jobs?.length).toBeGreaterThan(5);
  });
});

/*
 * An HTTP request names its operation in the path, so it counts against the rate limit before its body is read. A tool
 * call names its tool in the body. If the body is unreadable, the server knows neither the tool nor the message id. So
 * the server counts nothing against the token's rate limit, and the error is the same for every tool.
 */
describe.each<[key: 'malformed_json' | 'unsupported_media_type' | 'payload_too_large', sent: RequestOptions]>([
  ['malformed_json', { raw: '{"jsonrpc":', headers: { 'content-type': 'application/json' } }],
  ['unsupported_media_type', { raw: '{}', headers: { 'content-type': 'text/plain' } }],
  ['payload_too_large', { json: { body: 'x'.repeat(65_536) } }],
])('an HTTP request with the error %s', (key, sent) => {
  test('a REST request with an unreadable body counts against the rate limit of its token, but an MCP request with such a body does not', async () => {
    const declaring = unchanging.filter(({ one }) => keysOf(one.operation).includes(key));
    expect(declaring.length).toBeGreaterThan(7);
    const before = [await chargedOf(rest, declaring), await chargedOf(mcp, declaring)];
    for (const { one, scene } of declaring) {
      const { route } = one.operation;
      const line = `${route.method} ${pathOf(route.path, one.given(scene).params)}`;
      const [ofRest, ofMcp] = await Promise.all([
        request(rest, line, { token: scene.token, ...sent }),
        request(mcp, 'POST /api/v1/mcp', { token: scene.token, ...sent }),
      ]);
      expect([line, ofRest.status, ofRest.key]).toEqual([line, errors[key].status, key]);
      const { message } = ofRest.body.error;
      const error = {
        key,
        message,
        code: key === 'malformed_json' ? -32_700 : -32_000,
        data: { key, advice: expect.any(String) },
      };
      expect([ofMcp.status, ofMcp.body]).toEqual([ofRest.status, { jsonrpc: '2.0', id: null, error }]);
    }
    const after = [await chargedOf(rest, declaring), await chargedOf(mcp, declaring)];
    expect(after).toEqual([Number(before[0]) + declaring.length, before[1]]);
  });
});

/**
 * Runs a test case on one server. Returns the answer, the rate limit counters, the new audit entries and the new
 * events.
 */
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
    audit: auditAfter(server, told),
    events: await server.sql('select type, body from events where account_id = $1 order by type', [scene.accountId]),
  };
}

/** Returns the rate limit counters of the tokens in some test cases. */
function countsOf({ sql }: TestServer, scenes: { scene: Scene }[]) {
  const keys = scenes.flatMap(({ scene: { tokenId } }) => [`apitoken:read:${tokenId}`, `apitoken:write:${tokenId}`]);
  return sql<{ key: string; count: number }>('select key, count from rate_limits where key = any ($1) order by key', [
    keys,
  ]);
}

async function chargedOf(server: TestServer, scenes: { scene: Scene }[]): Promise<number> {
  return (await countsOf(server, scenes)).reduce((sum, { count }) => sum + count, 0);
}

/** Skips the first `told` lines of the audit log, and returns the other audit entries without times and request ids. */
function auditAfter({ auditLines }: TestServer, told: number | undefined) {
  return readAudit(auditLines.slice(told)).map(({ time: _, request_id: __, ...line }) => line);
}
