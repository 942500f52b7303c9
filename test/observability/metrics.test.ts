import { readFile } from 'node:fs/promises';
import pg from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { IdeaBoard } from '../../client/main.ts';
import { loadConfig } from '../../server/config.ts';
import { buildMetrics, type Metrics } from '../../server/observability/metrics.ts';
import { serveMetrics } from '../../server/observability/serve-metrics.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { startProxy } from '../helpers/proxy.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest, type TestServer } from '../helpers/server.ts';
import { addWebhook, eventually } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';

interface Watched {
  server: TestServer;
  metrics: Metrics;
  url: string;
  /** Fetches the metrics. Returns their values, keyed by the name and the labels of the metric. */
  scrape(): Promise<Map<string, number>>;
}

async function startWatched(): Promise<Watched> {
  const metrics = buildMetrics();
  const server = await startServerForTest({
    dependencies: { metrics },
    environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' },
  });
  const served = await serveMetrics(metrics, server.dependencies, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => served.close());
  return { server, metrics, url: served.url, scrape: async () => parse(await (await fetch(served.url)).text()) };
}

function parse(text: string): Map<string, number> {
  const lines = text.split('\n').filter(line => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

test('the metrics count requests by method, route, HTTP status and error key, but combine requests that differ only in an id', async () => {
  const { server, scrape } = await startWatched();
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, 'read');
  await request(server, 'GET /api/v1/board', { token });
  await request(server, 'GET /api/v1/ideas/41', { token });
  await request(server, 'GET /api/v1/ideas/42', { token });
  await request(server, 'POST /api/v1/ideas', { token, json: { title: 'A', body: 'B' } });
  await request(server, 'GET /nothing/here');
  await request(server, 'GET /api/v1/ideas/%zz', { token });

  const counted = await scrape();
  const count = (method: string, route: string, status: number, key: string) =>
    counted.get(`idea_board_http_requests_total{method="${method}",route="${route}",status="${status}",key="${key}"}`);
  expect(count('GET', '/api/v1/board', 200, '')).toBe(1);
  expect(count('GET', '/api/v1/ideas/:id', 404, 'not_found')).toBe(2);
  expect(count('POST', '/api/v1/ideas', 403, 'insufficient_scope')).toBe(1);
  expect(count('GET', 'none', 404, 'not_found')).toBe(2);
  expect(counted.get('idea_board_http_request_duration_seconds_count{method="GET",route="/api/v1/ideas/:id"}')).toBe(2);
  expect([...counted.keys()].join('\n')).not.toMatch(/ideas\/4[12]/);
});

test('the metrics count requests for each SDK version, but count requests of unknown clients and of every SDK version after the first 50 as "other"', async () => {
  const { server, metrics, scrape } = await startWatched();
  const { token } = await issueToken(server, await createWorld(server), 'read');
  const { userAgent } = await import('../../client/version.ts');
  await new IdeaBoard({ baseUrl: server.baseUrl, token, headers: { 'User-Agent': 'feedback-bot/2.1' } }).board.get();
  await request(server, 'GET /api/v1/board', { token });
  await request(server, 'GET /health');
  const countOf = async (client: string) =>
    (await scrape()).get(`idea_board_client_requests_total{client="${client}"}`);
  expect(await countOf(userAgent() ?? '')).toBe(1);
  expect(await countOf('other')).toBe(1);

  const counted = { method: 'GET', route: '/api/v1/board', status: 200, key: '', durationMs: 1 };
  for (let n = 0; n < 60; n += 1) metrics.countRequest({ ...counted, userAgent: `idea-board-client/9.${n}.0` });
  expect(await countOf('idea-board-client/9.48.0')).toBe(1);
  expect(await countOf('idea-board-client/9.49.0')).toBeUndefined();
  expect(await countOf('other')).toBe(12);
});

test('the metrics count finished jobs and deliveries by outcome, and show the number of pending jobs and deliveries', async () => {
  const { server, metrics, scrape } = await startWatched();
  const world = await createWorld(server);
  const { token } = await issueToken(server, world, 'write');
  const receiver = await startReceiver(500);
  onTestFinished(() => receiver.close());
  await addWebhook(server, world, { url: receiver.url, eventTypes: ['idea.created'] });
  await request(server, 'POST /api/v1/ideas', { token, json: { title: 'Dark mode', body: 'Late.' } });

  const before = await scrape();
  expect(before.get('idea_board_webhook_deliveries_pending')).toBe(1);
  expect(before.get('idea_board_jobs_due')).toBe(2);
  expect(before.get('idea_board_database_up')).toBe(1);

  await startWorkerForTest(server, { metrics });
  await receiver.waitForRequests(1);
  await eventually(async () => {
    const counted = await scrape();
    expect(counted.get('idea_board_deliveries_total{channel="webhook",outcome="failed"}')).toBe(1);
    expect(counted.get('idea_board_delivery_duration_seconds_count{channel="webhook"}')).toBe(1);
    expect(counted.get('idea_board_jobs_total{task="deliver_webhooks",outcome="done"}')).toBeGreaterThan(0);
    expect(counted.get('idea_board_job_duration_seconds_count{task="tell_people"}')).toBe(1);
    expect(counted.get('idea_board_jobs_due')).toBe(0);
    expect(counted.get('idea_board_webhook_deliveries_pending')).toBe(1);
  });

  receiver.respondWith(204);
  await server.sql('update webhook_deliveries set next_attempt_at = now()');
  await server.sql('update webhook_endpoints set probed_until = null');
  await server.sql(
    `update graphile_worker._private_jobs set run_at = now() where locked_at is null and run_at > now()`,
  );
  await server.sql(`select pg_notify('jobs:insert', '{"count":100}')`);
  await eventually(async () => {
    const counted = await scrape();
    expect(counted.get('idea_board_deliveries_total{channel="webhook",outcome="delivered"}')).toBe(1);
    expect(counted.get('idea_board_webhook_deliveries_pending')).toBe(0);
  });
});

test('while PostgreSQL does not answer, the metrics port still answers and reports that the database is down', async () => {
  const { server } = await startWatched();
  const proxy = await startProxy(server.url);
  onTestFinished(() => proxy.close());
  const pool = new pg.Pool({ connectionString: proxy.url });
  pool.on('error', () => {});
  onTestFinished(() => pool.end());
  await pool.query('select 1');
  onTestFinished(() => proxy.resume());
  proxy.silence();
  const silent = { query: async () => (await pool.query('select 1')).rows };
  const metrics = buildMetrics();
  const served = await serveMetrics(
    metrics,
    { ...server.dependencies, database: { ...server.database, ...silent, pool } },
    { host: '127.0.0.1', port: 0 },
  );
  onTestFinished(() => served.close());
  const counted = parse(await (await fetch(served.url)).text());
  expect(counted.get('idea_board_database_up')).toBe(0);
  expect(counted.has('idea_board_jobs_due')).toBe(false);
  expect(counted.get('process_resident_memory_bytes')).toBeGreaterThan(0);
});

test('the metrics port serves only the path /metrics and refuses POST requests, and the API port does not serve /metrics', async () => {
  const { server, metrics, url } = await startWatched();
  expect((await fetch(url)).headers.get('content-type')).toMatch(/^text\/plain; version=0\.0\.4/);
  expect((await fetch(url, { method: 'POST' })).status).toBe(405);
  expect((await fetch(new URL('/', url))).status).toBe(404);
  expect((await request(server, 'GET /metrics')).status).toBe(404);
  expect(server.config.METRICS_PORT).toBeUndefined();
  // If the port is already in use, the error names the setting METRICS_PORT.
  const taken = { host: '127.0.0.1', port: Number(new URL(url).port) };
  await expect(serveMetrics(metrics, server.dependencies, taken)).rejects.toThrow(/^METRICS_PORT .*EADDRINUSE/);
});

test('the metrics port refuses a Host header other than an IP address, localhost or a name in METRICS_ALLOWED_HOSTS', async () => {
  const { server, metrics, url } = await startWatched();
  const METRICS_ALLOWED_HOSTS = loadConfig({
    METRICS_ALLOWED_HOSTS: 'Ideas, metrics.example.com',
  }).METRICS_ALLOWED_HOSTS;
  const options = { host: '127.0.0.1', port: 0, allowedHosts: METRICS_ALLOWED_HOSTS };
  const named = await serveMetrics(metrics, server.dependencies, options);
  onTestFinished(() => named.close());
  const ask = async (at: string, host: string) => {
    const { status, text } = await rawRequest({ baseUrl: at }, 'GET', '/metrics', { headers: { host } });
    return [host, status, text.includes('idea_board_')];
  };
  for (const host of ['127.0.0.1:9464', '[::1]:9464', '10.1.2.3', 'localhost:9464', 'LOCALHOST', 'localhost.']) {
    expect(await ask(url, host)).toEqual([host, 200, true]);
  }
  const others = [
    'evil.example',
    'evil.example:9464',
    'ideas',
    'metrics.example.com',
    'localhost.evil.example',
    '127.0.0.1.evil.example',
    'a b',
  ];
  for (const host of others) expect(await ask(url, host)).toEqual([host, 421, false]);
  for (const host of ['ideas:9464', 'metrics.example.com'])
    expect(await ask(named.url, host)).toEqual([host, 200, true]);
  expect(await ask(named.url, 'evil.example')).toEqual(['evil.example', 421, false]);
});

test('the page docs/metrics.md lists exactly the metrics of the server', async () => {
  const { url } = await startWatched();
  const text = await (await fetch(url)).text();
  const written = [...text.matchAll(/^# TYPE (idea_board_\w+) (\w+)$/gm)].map(([, name, type]) => `${name} ${type}`);
  const document = await readFile(new URL('../../docs/metrics.md', import.meta.url), 'utf8');
  const documented = [...document.matchAll(/^\| `(idea_board_\w+)` \| (\w+) \|/gm)].map(
    ([, name, type]) => `${name} ${type}`,
  );
  expect(documented.sort()).toEqual(written.sort());
});
