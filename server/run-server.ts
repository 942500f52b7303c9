import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { type Config, loadConfig } from './config.ts';
import { connectOrStart, startEmbeddedPostgres } from './database/embedded/embedded-postgres.ts';
import { streamsOf } from './database/migration-files.ts';
import { migrate } from './database/migrator.ts';
import { requireSupportedPostgres } from './database/server-version.ts';
import { type DemoTokens, loadDemo } from './demo/load-demo.ts';
import { describeDemo } from './demo/welcome.ts';
import type { ServerDependencies } from './dependencies.ts';
import { recordServerAddress } from './domain/server-address.ts';
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
import { runUntilSignal, type StopReason, type Stops, type TellFaults } from './run-until-signal.ts';

/** Starts everything, serves until SIGINT or SIGTERM, and stops everything in the reverse order. */
export function runServer(environment: NodeJS.ProcessEnv): Promise<void> {
  return run(environment, startServer);
}

/** Runs jobs and nothing else until SIGINT or SIGTERM. */
export function runWorker(environment: NodeJS.ProcessEnv): Promise<void> {
  return run(environment, startWorkerAlone);
}

/** What a process is started with. */
interface Beginning {
  config: Config;
  logger: Logger;
  extensions: readonly Extension[];
  tellFaults: TellFaults;
}

async function run(
  environment: NodeJS.ProcessEnv,
  start: (beginning: Beginning, stops: Stops) => Promise<void>,
): Promise<void> {
  const config = loadConfig(environment);
  requireProductionSecrets(config);
  const extensions = await loadExtensions(config.EXTENSIONS, environment);
  const logger = buildLogger(config, undefined, extensions);
  await runUntilSignal(config, logger, (stops, tellFaults) => start({ config, logger, extensions, tellFaults }, stops));
}

async function startServer(beginning: Beginning, stops: Stops): Promise<void> {
  const { config, logger, extensions } = beginning;
  const url = await prepareDatabase(beginning, stops, startEmbeddedPostgres);
  const { server, close } = await openDependencies(url, config, logger, extensions);
  stops.push(close);
  beginning.tellFaults(server.reporter);
  await fillCanonicalAddresses(server.database);
  const isDemo = config.DEMO ?? config.DATABASE_URL === undefined;
  const tokens = isDemo ? await loadDemo(server) : undefined;
  await startMetrics(server, stops);
  let worker: Worker | undefined;
  let app: FastifyInstance | undefined;
  // Both at once: nobody sends jobs here, so the worker need not wait until balancers have noticed.
  stops.push(reason => Promise.all([worker?.stop(), app && stopServing(app, reason)]));
  // Routes first: what an extension does besides begins when all of it is known to work.
  app = await buildApp(server);
  await renewSubscriptions(server.database, extensions);
  if (config.WORKER) worker = await startWorker({ ...server, url });
  await app.listen({ host: config.HOST, port: config.PORT });
  const address = addressOf(app);
  await recordServerAddress(server.database, config.isBaseUrlSet ? config.BASE_URL : address, server.clock.now());
  greet(address, config.BASE_URL, tokens);
}

/** Says at /ready that it will stop, goes on serving until that was noticed, and then finishes what is in flight. */
async function stopServing(app: FastifyInstance, { noticeMs }: StopReason): Promise<void> {
  app.isDraining = true;
  await delay(noticeMs);
  await app.close();
}

async function startWorkerAlone(beginning: Beginning, stops: Stops): Promise<void> {
  const { config, logger, extensions } = beginning;
  // The embedded PostgreSQL is most likely a server's, which runs beside.
  const url = await prepareDatabase(beginning, stops, connectOrStart);
  const { server, close } = await openDependencies(url, config, logger, extensions);
  stops.push(close);
  beginning.tellFaults(server.reporter);
  await fillCanonicalAddresses(server.database);
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
  const metrics = await serveMetrics(server.metrics, server, { host, port, allowedHosts, http });
  stops.push(() => metrics.close());
  server.logger.info({ url: metrics.url }, 'metrics are served');
}

type StartEmbedded = typeof startEmbeddedPostgres | typeof connectOrStart;

/** The address of a PostgreSQL that is there, supported and migrated; an embedded one when none is given. */
async function prepareDatabase(
  { config, logger, extensions }: Beginning,
  stops: Stops,
  startEmbedded: StartEmbedded,
): Promise<string> {
  let url = config.DATABASE_URL;
  if (url === undefined) {
    const postgres = await startEmbedded({ dataDir: config.DATA_DIR });
    stops.push(() => postgres.stop());
    url = postgres.url();
  }
  await requireSupportedPostgres(url, config.DATABASE_CONNECT_TIMEOUT_MS);
  await migrate(url, streamsOf(extensions), {
    tolerated: config.TOLERATED_MIGRATIONS,
    onWait: holder => logger.warn({ holder }, 'waiting for another process, which migrates the database'),
  });
  return url;
}

/** Where the server listens, as a browser on its machine reaches it. */
function addressOf(app: FastifyInstance): string {
  const { address, family, port } = app.server.address() as AddressInfo;
  const isEverywhere = address === '0.0.0.0' || address === '::';
  const host = isEverywhere ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
  return `http://${host}:${port}`;
}

/** A person sees where the server is, and once the tokens of the demo; the log lines are for machines. */
function greet(baseUrl: string, publicUrl: string, tokens: DemoTokens | undefined) {
  process.stdout.write(`\nIdea-Board listens on ${baseUrl}, and its documentation is at ${baseUrl}/docs\n`);
  if (tokens) process.stdout.write(describeDemo(baseUrl, publicUrl, tokens));
  process.stdout.write('\n');
}
