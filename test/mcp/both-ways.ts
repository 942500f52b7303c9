import { expect } from 'vitest';
import { type Answer, request } from '../helpers/request.ts';
import type { TestServer } from '../helpers/server.ts';
import { callTool, type Form } from './call-tool.ts';
import { type Case, type Given, hasBody } from './cases.ts';
import type { Scene } from './scenes.ts';

export function pathOf(path: string, params: Record<string, unknown>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => String(params[name]));
}

/** Sends the input of a case as an HTTP request to the route of its operation. */
export function sendRequest(
  server: TestServer,
  { operation: { route }, idempotencyKey }: Case,
  { token }: Scene,
  given: Given,
) {
  const query = new URLSearchParams(
    Object.entries(given.query).map(([name, value]): [string, string] => [name, String(value)]),
  );
  return request(server, `${route.method} ${pathOf(route.path, given.params)}?${query}`, {
    token,
    ...(hasBody(route) ? { json: given.body } : {}),
    ...(idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}),
  });
}

/** Returns the input as tool arguments, with names in snake case. */
export function argumentsOf({ params, query, body }: Given): Record<string, unknown> {
  const named = Object.entries(params).map(([name, value]) => [name.replace('Id', '_id'), value]);
  return { ...Object.fromEntries(named), ...query, ...body };
}

/** Sends the input of a case as a tool call. */
export function sendCall(
  server: TestServer,
  { operation, idempotencyKey }: Case,
  { token }: Scene,
  given: Given,
  form: Form,
) {
  return callTool(server, {
    token,
    form,
    name: operation.metadata.tool.name,
    args: argumentsOf(given),
    ...(idempotencyKey ? { meta: { 'idea-board/idempotency-key': idempotencyKey } } : {}),
  });
}

/** The error statuses that a tool call can return. For all other errors, the tool result has the status 200. */
const toldByStatus: ReadonlySet<number> = new Set([401, 429, 500, 503]);

/** Fails unless the answer to a tool call has the headers, the body and the error of the REST answer. */
export function expectSameAnswer(ofMcp: Answer, ofRest: Answer) {
  for (const name of [
    'retry-after',
    'ratelimit',
    'ratelimit-policy',
    'x-ratelimit-remaining',
    'idempotency-replayed',
  ]) {
    expect([name, ofMcp.headers.get(name)]).toEqual([name, ofRest.headers.get(name)]);
  }
  if (toldByStatus.has(ofRest.status)) {
    expect(ofMcp).toMatchObject({ status: ofRest.status, key: ofRest.key, body: { id: 'call-1', jsonrpc: '2.0' } });
    expect(ofMcp.body.error).toMatchObject(ofRest.body.error);
    expect(ofMcp.body.error.data.details).toEqual(ofRest.body.error.details);
    expect(ofMcp.body.error.data.advice).toMatch(/^\w.{10,}\.$/);
    return;
  }
  expect(ofMcp.status).toBe(200);
  const { content, structuredContent, isError } = ofMcp.body.result;
  const body = masked(ofRest.body);
  if (ofRest.status < 300) {
    expect(isError).toBeFalsy();
    expect(masked(structuredContent)).toEqual(body);
    expect(masked(JSON.parse(content[0].text))).toEqual(body);
    return;
  }
  expect(isError).toBe(true);
  expect(structuredContent).toBeUndefined();
  // A tool call has the fields of the query and of the body as arguments, so the paths in the error differ.
  const ofArguments = JSON.stringify(body).replace(/"path":\["(query|body)"/g, '"path":["arguments"');
  expect(withoutFields(masked(JSON.parse(content[0].text)))).toEqual(withoutFields(JSON.parse(ofArguments)));
  // The second content element of the tool result is advice to the model.
  expect(content[1].text).toMatch(/^\w.{10,}\.$/);
}

/**
 * Removes the list of known fields from an issue. This list is longer for a tool, because a tool has the fields of the
 * query and of the body as arguments.
 */
function withoutFields(body: unknown) {
  const { error } = body as { error: { issues?: { code: string; message: string; known?: string[] }[] } };
  const issues = error.issues?.map(({ known, message, ...issue }) =>
    known ? { ...issue, message: message.replace(/ fields are .*/, '') } : { ...issue, message },
  );
  return { error: { ...error, issues } };
}

/** Masks times, UUIDs and secrets, because some times come from the database, and ids of events and secrets are random. */
export function masked(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return JSON.parse(
    text
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00(:00)?)?/g, 'a time')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'an id')
      .replace(/whsec_[\w+/=]+/g, 'a secret')
      // The encrypted secret of a webhook begins with the version of its format.
      .replace(/\\\\x01[0-9a-f]{50,}/g, 'an encrypted secret'),
  );
}

/** Returns all rows of all tables except the usage of tokens, which differs for tool calls, and all jobs. */
export async function dump({ sql }: TestServer): Promise<Record<string, unknown[]>> {
  const tables = await sql<{ name: string }>(
    `select table_name as name from information_schema.tables
    where table_schema = 'public' and table_type = 'BASE TABLE'
      and table_name not in ('schema_migrations', 'token_usage')`,
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
