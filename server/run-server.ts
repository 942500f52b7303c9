import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { type Config, loadConfig } from './config.ts';
import { connectOrStart, startEmbeddedPostgres } from './database/embedded/embedded-postgres.ts';
import { streamsOf } from './database/migration-files.ts';
import { migrate } from './database/migrator.ts';
import { requireUsableUrls } from './database/pooler.ts';
import { requireSupportedPostgres } from './database/server-version.ts';
import { type DemoTokens, loadDemo } from './demo/load-demo.ts';
import { describeDemo } from './demo/welcome.ts';
import type { ServerDependencies } from './dependencies.ts';
import { recordServerAddress } from './domain/server-address.ts';
import { readUsage } from './domain/usage/read-usage.ts';
import { fillCanonicalAddresses } from './domain/users/fill-canonical-addresses.ts';
import type { Extension } from './extensions/extension.ts';
import { loadExtensions } from './extensions/load-extensions.ts';
import { renewSubscriptions } from './extensions/subscriptions.ts';
import { boundedServer } from './http/transport.ts';
import { startWorker, type Worker } from './jobs/worker.ts';
import { buildLogger } from './observability/logger.ts';
import { serveMetrics } from './observability/serve-metrics.ts';
import { openDependencies } from './open-dependencies.ts';
import { requireProductionSecrets } from './production-secrets.ts';
import { type ReportCrashes, runUntilSignal, type StopReason, type Stops } from './run-until-signal.ts';

/**
 * Starts the HTTP server. Also starts the embedded PostgreSQL if DATABASE_URL is unset, and the worker unless WORKER is
 * 0. Stops all of them at SIGINT or SIGTERM.
 */
export function runServer(environment: NodeJS.ProcessEnv): Promise<void> {
  return run(environment, startServer);
}

/** Starts the worker without the HTTP server. Stops the worker at SIGINT or SIGTERM. */
export function runWorker(environment: NodeJS.ProcessEnv): Promise<void> {
  return run(environment, startWorkerAlone);
}

interface StartOptions {
  config: Config;
  logger: Logger;
  extensions: readonly Extension[];
  reportCrashes: ReportCrashes;
}

async function run(
  environment: NodeJS.ProcessEnv,
  start: (options: StartOptions, stops: Stops) => Promise<void>,
): Promise<void> {
  const config = loadConfig(environment);
  requireProductionSecrets(config);
  const extensions = await loadExtensions(config.EXTENSIONS, environment);
  const logger = buildLogger(config, undefined, extensions);
  await runUntilSignal(config, logger, (stops, reportCrashes) =>
    start({ config, logger, extensions, reportCrashes }, stops),
  );
}

async function startServer(options: StartOptions, stops: Stops): Promise<void> {
  const { config, extensions } = options;
  const { server, url } = await openServer(options, stops, startEmbeddedPostgres);
  const isDemo = config.DEMO ?? config.DATABASE_URL === undefined;
  const tokens = isDemo ? await loadDemo(server) : undefined;
  await startMetrics(server, stops);
  let worker: Worker | undefined;
  let app: FastifyInstance | undefined;
  // The worker and the HTTP server stop in parallel. After SIGTERM, the HTTP server first continues to serve, so that
  // load balancers can notice the stop.
  stops.push(reason => Promise.all([worker?.stop(), app && stopServing(app, reason)]));
  // The server builds the routes of extensions before it activates the subscriptions of extensions. So an extension
  // with an error in its routes gets no events.
  app = await buildApp(server);
  await renewSubscriptions(server.database, extensions);
  if (config.WORKER) worker = await startWorker({ ...server, url });
  await app.listen({ host: config.HOST, port: config.PORT });
  const address = addressOf(app);
  await recordServerAddress(server.database, config.isBaseUrlSet ? config.BASE_URL : address, server.clock.now());
  greet(address, config.BASE_URL, tokens);
}

/**
 * Makes /ready answer 503. Then serves requests for `noticeMs` more milliseconds, so that load balancers can notice the
 * 503. Then completes the open requests.
 */
async function stopServing(app: FastifyInstance, { noticeMs }: StopReason): Promise<void> {
  app.isDraining = true;
  await delay(noticeMs);
  await app.close();
}

async function startWorkerAlone(options: StartOptions, stops: Stops): Promise<void> {
  const { config, extensions } = options;
  // Without DATABASE_URL, the worker usually connects to the embedded PostgreSQL that a server on this machine has
  // started.
  const { server, url } = await openServer(options, stops, connectOrStart);
  await renewSubscriptions(server.database, extensions);
  const worker = await startWorker({ ...server, url });
  stops.push(() => worker.stop());
  await startMetrics(server, stops);
  process.stdout.write(
    `\nIdea-Board's worker runs up to ${config.WORKER_CONCURRENCY} webhooks of an account at once\n\n`,
  );
}

async function startMetrics(server: ServerDependencies, stops: Stops): Promise<void> {
  const { METRICS_HOST: host, METRICS_PORT: port, METRICS_ALLOWED_HOSTS: allowedHosts } = server.config;
  if (!server.metrics || port === undefined) return;
  const http = boundedServer(server.config);
  const documents = { '/usage': () => readUsage(server.database, server.clock.now()) };
  const metrics = await serveMetrics(server.metrics, server, { host, port, allowedHosts, documents, http });
  stops.push(() => metrics.close());
  server.logger.info({ url: metrics.url }, 'metrics are served');
}

type StartEmbedded = typeof startEmbeddedPostgres | typeof connectOrStart;

async function openServer(options: StartOptions, stops: Stops, startEmbedded: StartEmbedded) {
  const { config, logger, extensions, reportCrashes } = options;
  const url = await prepareDatabase(options, stops, startEmbedded);
  const { server, close } = await openDependencies(url, config, logger, extensions);
  stops.push(close);
  reportCrashes(server.reporter);
  await fillCanonicalAddresses(server.database);
  return { server, url: config.DATABASE_DIRECT_URL ?? url };
}

/**
 * Returns the URL of the database. If DATABASE_URL is unset, starts PostgreSQL first. In any case, checks the URL and the
 * version of PostgreSQL, and migrates the database.
 */
async function prepareDatabase(
  { config, logger, extensions }: StartOptions,
  stops: Stops,
  startEmbedded: StartEmbedded,
): Promise<string> {
  let url = config.DATABASE_URL;
  if (url === undefined) {
    const postgres = await startEmbedded({ dataDir: config.DATA_DIR });
    stops.push(() => postgres.stop());
    url = postgres.url();
  }
  const { DATABASE_DIRECT_URL: directUrl, DATABASE_READ_URL: readUrl } = config;
  const { DATABASE_CONNECT_TIMEOUT_MS: connectTimeoutMs } = config;
  await requireUsableUrls({ url, directUrl, readUrl }, connectTimeoutMs, problem => logger.warn(problem));
  await requireSupportedPostgres(directUrl ?? url, connectTimeoutMs);
  await migrate(directUrl ?? url, streamsOf(extensions), {
    tolerated: config.TOLERATED_MIGRATIONS,
    onWait: holder => logger.warn({ holder }, 'waiting for another process, which migrates the database'),
  });
  return url;
}

/** Returns the URL of the server for a browser on the same machine. */
function addressOf(app: FastifyInstance): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  const isEverywhere = address === '0.0.0.0' || address === '::';
  const host = isEverywhere ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}

/** Prints the URLs of the server. If the demo was just created, also prints the tokens of the demo. */
function greet(baseUrl: string, publicUrl: string, tokens: DemoTokens | undefined) {
  process.stdout.write(`\nIdea-Board listens on ${baseUrl}, and its documentation is at ${baseUrl}/docs\n`);
  if (tokens) process.stdout.write(describeDemo(baseUrl, publicUrl, tokens));
  process.stdout.write('\n');
}
