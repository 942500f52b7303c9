import { expect } from 'vitest';
import { bodySchemaOf, type Given } from '../helpers/operations.ts';
import { type Answer, request } from '../helpers/request.ts';
import type { TestServer } from '../helpers/server.ts';
import { callTool, type Form } from './call-tool.ts';
import type { Case } from './cases.ts';
import type { Scene } from './scenes.ts';

export function pathOf(path: string, params: Record<string, unknown>): string {
  return path.replace(/:(\w+)/g, (_, name: string) => String(params[name]));
}

/** Sends the input of a test case as an HTTP request to the operation's route. */
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
    ...(bodySchemaOf(route) ? { json: given.body } : {}),
    ...(idempotencyKey ? { headers: { 'idempotency-key': idempotencyKey } } : {}),
  });
}

/** Returns the input of an operation as the arguments of a tool, with names in snake case. */
export function argumentsOf({ params, query, body }: Given): Record<string, unknown> {
  const named = Object.entries(params).map(([name, value]) => [name.replace('Id', '_id'), value]);
  return { ...Object.fromEntries(named), ...query, ...body };
}

/** Sends the input of a test case as a tool call. */
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

/**
 * The HTTP statuses that the server sends for an error over REST and also for the same error in a tool call. For all
 * other errors, the server answers a tool call with the status 200, and the tool result contains the error.
 */
const toldByStatus: ReadonlySet<number> = new Set([401, 429, 500, 503]);

/** Fails unless the answer to a tool call has the same headers, body and error as the answer of the REST API. */
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
  // The arguments of a tool contain the fields of the query and of the body. So the paths in a tool's error begin with
  // "arguments" in place of "query" or "body".
  const ofArguments = JSON.stringify(body).replace(/"path":\["(query|body)"/g, '"path":["arguments"');
  expect(withoutFields(masked(JSON.parse(content[0].text)))).toEqual(withoutFields(JSON.parse(ofArguments)));
  // The second content element of the tool result advises the model how to continue.
  expect(content[1].text).toMatch(/^\w.{10,}\.$/);
}

/**
 * Removes the list of known fields from an issue of an error. For a tool, this list is longer, because the arguments
 * contain the fields of the query and of the body.
 */
function withoutFields(body: unknown) {
  const { error } = body as { error: { issues?: { code: string; message: string; known?: string[] }[] } };
  const issues = error.issues?.map(({ known, message, ...issue }) =>
    known ? { ...issue, message: message.replace(/ fields are .*/, '') } : { ...issue, message },
  );
  return { error: { ...error, issues } };
}

/**
 * Masks times, UUIDs and secrets, because they differ between the two servers. Some times come from the database, and
 * the ids of events and the secrets are random.
 */
export function masked(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null';
  return JSON.parse(
    text
      .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|\+00(:00)?)?/g, 'a time')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'an id')
      .replace(/whsec_[\w+/=]+/g, 'a secret')
      // The encrypted secret of a webhook begins with a version number, which is 1.
      .replace(/\\\\x01[0-9a-f]{50,}/g, 'an encrypted secret'),
  );
}

/**
 * Returns all jobs, and the rows of all tables except the list of migrations and the usage of tokens. The usage differs
 * between HTTP requests and tool calls. Also leaves out the time of a token's last use.
 */
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
