import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { IdeaBoard } from '../../client/main.ts';
import { loadConfig } from '../../server/config.ts';
import type { Tracing } from '../../server/observability/active-span.ts';
import { openTracing } from '../../server/observability/open-tracing.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { waitingJobs } from '../helpers/jobs.ts';
import { hang, type Receiver, startReceiver } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest } from '../helpers/server.ts';
import { addWebhook, eventually } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';

/** A span in the JSON format of OTLP. */
interface ExportedSpan {
  traceId: string;
  spanId: string;
  parentSpanId?: string;
  name: string;
  kind: number;
  attributes: { key: string; value: { stringValue?: string; intValue?: number } }[];
  status: { code?: number };
}

interface Collector {
  url: string;
  headers: Record<string, string>;
  /** The text of all requests. */
  text(): string;
  spans(): ExportedSpan[];
  resource(): Record<string, unknown>;
}

/** Starts an OTLP collector that decodes the exported spans. */
async function startCollector(): Promise<Collector> {
  const bodies: string[] = [];
  const headers: Record<string, string> = {};
  const server = createServer(async (received, response) => {
    const body = await buffer(received);
    bodies.push((received.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body).toString());
    Object.assign(headers, received.headers, { path: received.url });
    response.setHeader('content-type', 'application/json').end('{}');
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const exported = () => bodies.flatMap(body => JSON.parse(body).resourceSpans);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    text: () => bodies.join('\n'),
    spans: () => exported().flatMap(one => one.scopeSpans.flatMap((scope: { spans: ExportedSpan[] }) => scope.spans)),
    resource: () => valuesOf(exported()[0].resource.attributes),
  };
}

function valuesOf(attributes: ExportedSpan['attributes']): Record<string, unknown> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
}

const logger = { warn() {} };

/** Opens tracing with a collector. `close` sends all ended spans. */
async function openTracingTo(endpoint: string, environment: Record<string, string> = {}): Promise<Tracing> {
  const tracing = await openTracing({ endpoint, config: loadConfig(environment), logger });
  onTestFinished(() => tracing.close());
  return tracing;
}

async function startTraced(tracing: Tracing) {
  const server = await startServerForTest({ dependencies: { tracing } });
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, 'write');
  return { server, world, token };
}

let receiver: Receiver;
beforeAll(async () => {
  receiver = closeAfterAll(await startReceiver());
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const traceparent = `00-${traceId}-b7ad6b7169203331-01`;

test('a request of the SDK, its SQL statements, its jobs and its webhook deliveries are in the trace that the caller began', async () => {
  const collector = await startCollector();
  const environment = {
    OTEL_EXPORTER_OTLP_HEADERS: 'x-api-key=collector%20key',
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=staging',
  };
  const tracing = await openTracingTo(collector.url, environment);
  const { server, world, token } = await startTraced(tracing);
  const { id: webhookId } = await addWebhook(server, world, { url: `${receiver.url}/hook?key=hook-secret-1` });
  const worker = await startWorkerForTest(server, { tracing });
  const client = new IdeaBoard({ baseUrl: server.baseUrl, token });
  const text = 'Written by ada.marker@example.com';
  const idea = await client.ideas.create({ title: text, body: text }, { headers: { traceparent } });
  // The vote follows the first delivery, because one job can deliver several events.
  await eventually(() => expect(receiver.received).toHaveLength(1));
  await client.ideas.vote(idea.id, { value: 'up' }, { headers: { traceparent } });
  await eventually(() => expect(receiver.received).toHaveLength(2));
  await eventually(async () => expect(await waitingJobs(server)).toEqual([]));
  await worker.stop();
  await tracing.close();

  const spans = collector.spans().filter(span => span.traceId === traceId);
  const named = (name: string) => spans.filter(span => span.name === name);
  const parentOf = (span: ExportedSpan | undefined) => spans.find(one => one.spanId === span?.parentSpanId)?.name;
  const [created] = named('POST /api/v1/ideas');
  expect(created?.parentSpanId).toBe('b7ad6b7169203331');
  expect(valuesOf(created?.attributes ?? [])).toMatchObject({
    'http.response.status_code': 201,
    'http.route': '/api/v1/ideas',
    'idea_board.account_id': world.accountId,
  });
  const [inserted] = named('insert_idea');
  expect(parentOf(inserted)).toBe('POST /api/v1/ideas');
  expect(valuesOf(inserted?.attributes ?? [])['db.query.text']).toMatch(/^with .*\$1/s);
  expect(parentOf(named('find_tokens')[0])).toBe('POST /api/v1/ideas');
  // The jobs also commit transactions, sometimes before the server knows that its own commit has ended.
  expect(named('commit').map(parentOf)).toContain('POST /api/v1/ideas');
  expect(parentOf(named('job tell_people')[0])).toBe('POST /api/v1/ideas');
  expect(named('job deliver_webhooks').map(parentOf).sort()).toEqual([
    'POST /api/v1/ideas',
    'POST /api/v1/ideas/:id/vote',
  ]);
  const delivered = named('deliver webhook');
  expect(delivered.map(parentOf)).toEqual(['job deliver_webhooks', 'job deliver_webhooks']);
  expect(valuesOf(delivered[0]?.attributes ?? [])).toMatchObject({ 'idea_board.webhook_id': webhookId });
  const sent = receiver.received.map(({ headers }) => headers.traceparent);
  expect(sent.sort()).toEqual(delivered.map(span => `00-${traceId}-${span.spanId}-01`).sort());

  expect(collector.headers).toMatchObject({ path: '/v1/traces', 'x-api-key': 'collector key' });
  expect(collector.resource()).toMatchObject({
    'service.name': 'idea-board',
    'deployment.environment.name': 'staging',
  });
  for (const secret of [token.replace(/^ib_\d+_/, ''), 'marker', 'example.com', 'hook-secret', '127.0.0.1']) {
    expect(collector.text()).not.toContain(secret);
  }
  expect(receiver.received.map(({ body }) => body).join()).not.toContain(traceId);
});

test('a request with an invalid traceparent begins a new trace', async () => {
  const collector = await startCollector();
  const tracing = await openTracingTo(collector.url);
  const { server, token } = await startTraced(tracing);
  const invalid = [
    `00-${traceId}-b7ad6b71-01`,
    `00-${'0'.repeat(32)}-b7ad6b7169203331-01`,
    `ff-${traceId}-b7ad6b7169203331-01`,
    "00-'; select 1 --01",
  ];
  for (const traceparent of invalid) {
    const json = { title: 'A', body: 'B' };
    const answer = await request(server, 'POST /api/v1/ideas', { token, json, headers: { traceparent } });
    expect(answer.status).toBe(201);
  }
  await request(server, 'GET /ready');
  await tracing.close();
  const ofRequests = collector.spans().filter(({ kind }) => kind === 2);
  expect(ofRequests.map(({ name, parentSpanId }) => ({ name, parentSpanId }))).toEqual(
    invalid.map(() => ({ name: 'POST /api/v1/ideas', parentSpanId: undefined })),
  );
  expect(new Set(ofRequests.map(span => span.traceId)).size).toBe(invalid.length);
  expect(collector.text()).not.toContain(traceId);
});

test('a trace marks a failed SQL statement and a server error, and does not contain the text of the error', async () => {
  const collector = await startCollector();
  const tracing = await openTracingTo(collector.url);
  const { server, token } = await startTraced(tracing);
  await server.sql('alter table tags rename to tags_away');
  expect((await request(server, 'GET /api/v1/board', { token })).status).toBe(500);
  await request(server, 'GET /health');
  await tracing.close();
  const failed = collector.spans().filter(({ status }) => status.code === 2);
  expect(failed.map(({ attributes }) => valuesOf(attributes)['error.type']).sort()).toEqual([
    '42P01',
    'internal_error',
  ]);
  expect(collector.text()).not.toContain('does not exist');
  const traceIds = server.logLines.map(line => JSON.parse(line)).filter(({ msg }) => msg === 'request');
  expect(traceIds[0]).toMatchObject({ status: 500, traceId: failed[0]?.traceId });
});

test("if the sampler is parentbased_always_off, the server records a trace only if the client's traceparent says that the client records it", async () => {
  const collector = await startCollector();
  const tracing = await openTracingTo(collector.url, { OTEL_TRACES_SAMPLER: 'parentbased_always_off' });
  const { server, token } = await startTraced(tracing);
  await request(server, 'GET /api/v1/board', { token });
  await request(server, 'GET /api/v1/board', { token, headers: { traceparent } });
  await request(server, 'GET /health');
  await tracing.close();
  expect(new Set(collector.spans().map(span => span.traceId))).toEqual(new Set([traceId]));
});

test('an OpenTelemetry collector that never answers delays no request, and delays the stop of the server only for a limited time', async () => {
  const collector = await startReceiver(hang);
  onTestFinished(() => collector.close());
  const tracing = await openTracing({ endpoint: collector.url, config: loadConfig({}), logger, flushMs: 200 });
  const { server, token } = await startTraced(tracing);
  for (let n = 0; n < 3; n += 1) expect((await request(server, 'GET /api/v1/board', { token })).status).toBe(200);
  await request(server, 'GET /health');
  const startedAt = performance.now();
  await tracing.close();
  expect(collector.received).toHaveLength(1);
  // Without the limit of 200 ms, the exporter would wait for ten seconds.
  expect(performance.now() - startedAt).toBeLessThan(8_000);
});

test('if an OpenTelemetry collector refuses the spans of a request, the server logs the refusal, and the request succeeds', async () => {
  const collector = await startReceiver(400);
  onTestFinished(() => collector.close());
  const warnings: unknown[] = [];
  const warn = (...line: unknown[]) => void warnings.push(line[1]);
  const tracing = await openTracing({ endpoint: collector.url, config: loadConfig({}), logger: { warn } });
  const { server, token } = await startTraced(tracing);
  expect((await request(server, 'GET /api/v1/board', { token })).status).toBe(200);
  await request(server, 'GET /health');
  await tracing.close();
  expect(warnings).toEqual(['spans could not be sent to the collector']);
});

test('a server without OTEL_EXPORTER_OTLP_ENDPOINT stores the traceparent of a request neither in events nor in jobs', async () => {
  const server = await startServerForTest();
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, 'write');
  await addWebhook(server, world, { url: receiver.url });
  const json = { title: 'A', body: 'B' };
  await request(server, 'POST /api/v1/ideas', { token, json, headers: { traceparent } });
  const [event] = await server.sql<{ data: object }>('select data from events');
  expect(event?.data).not.toHaveProperty('traceparent');
  const jobs = await server.sql<{ payload: object }>('select payload from graphile_worker._private_jobs');
  expect(jobs).toHaveLength(2);
  for (const { payload } of jobs) expect(payload).not.toHaveProperty('traceparent');
});

test.each([
  ['OTEL_RESOURCE_ATTRIBUTES', 'no-value'],
  ['OTEL_EXPORTER_OTLP_HEADERS', 'x-api-key=%zz'],
  ['OTEL_TRACES_SAMPLER', 'sometimes'],
  ['OTEL_TRACES_SAMPLER_ARG', '1.5'],
  ['OTEL_EXPORTER_OTLP_ENDPOINT', 'localhost:4318'],
])('the server refuses an invalid value of the setting %s, and the error does not repeat the value', (name, value) => {
  expect(() => loadConfig({ [name]: value })).toThrow(new RegExp(`Invalid settings: ${name}`));
  expect(() => loadConfig({ [name]: value })).not.toThrow(value);
});
