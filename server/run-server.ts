import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';
import { buildApp } from './app.ts';
import { type Config, loadConfig } from './config.ts';
import { connectOrStart, startEmbeddedPostgres } from './database/embedded-postgres.ts';
import { migrate } from './database/migrator.ts';
import { requireSupportedPostgres } from './database/server-version.ts';
import { type DemoTokens, loadDemo } from './demo/load-demo.ts';
import { describeDemo } from './demo/welcome.ts';
import { systemClock } from './domain/clock.ts';
import { startWorker } from './jobs/worker.ts';
import { buildLogger } from './observability/logger.ts';
import { openDependencies } from './open-dependencies.ts';

/** How long a stop may take before the process ends without waiting for what is left. */
const stopDeadlineMs = 9_000;

/** Undoes what was started, the last first. */
type Stops = (() => Promise<unknown>)[];

/** Starts everything, serves until SIGINT or SIGTERM, and stops everything in the reverse order. */
export function runServer(environment: NodeJS.ProcessEnv): Promise<void> {
  return runUntilSignal(environment, startServer);
}

/** Runs jobs and nothing else until SIGINT or SIGTERM. */
export function runWorker(environment: NodeJS.ProcessEnv): Promise<void> {
  return runUntilSignal(environment, startWorkerAlone);
}

type Start = (config: Config, logger: Logger, stops: Stops) => Promise<void>;

async function runUntilSignal(environment: NodeJS.ProcessEnv, start: Start): Promise<void> {
  const config = loadConfig(environment);
  const logger = buildLogger(config);
  const stops: Stops = [];
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  const starting = start(config, logger, stops);
  // A signal in the middle of the start waits for its end: what is half started could not be stopped.
  stopOnSignal(logger, () => starting.then(stop, stop));
  try {
    await starting;
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startServer(config: Config, logger: Logger, stops: Stops): Promise<void> {
  const url = await prepareDatabase(config, stops, startEmbeddedPostgres);
  const { server, close } = await openDependencies(url, config, logger);
  stops.push(close);
  const isDemo = config.DEMO ?? config.DATABASE_URL === undefined;
  const tokens = isDemo ? await loadDemo(server.database, systemClock) : undefined;
  if (config.WORKER) {
    const worker = await startWorker({ ...server, url });
    stops.push(() => worker.stop());
  }
  const app = await buildApp(server);
  stops.push(() => app.close());
  await app.listen({ host: config.HOST, port: config.PORT });
  greet(app, tokens);
}

async function startWorkerAlone(config: Config, logger: Logger, stops: Stops): Promise<void> {
  // The embedded PostgreSQL is most likely a server's, which runs beside.
  const url = await prepareDatabase(config, stops, connectOrStart);
  const { server, close } = await openDependencies(url, config, logger);
  stops.push(close);
  const worker = await startWorker({ ...server, url });
  stops.push(() => worker.stop());
  process.stdout.write(`\nIdea-Board's worker runs up to ${config.WORKER_CONCURRENCY} jobs at once\n\n`);
}

type StartEmbedded = typeof startEmbeddedPostgres | typeof connectOrStart;

/** The address of a PostgreSQL that is there, supported and migrated; an embedded one when none is given. */
async function prepareDatabase(config: Config, stops: Stops, startEmbedded: StartEmbedded): Promise<string> {
  let url = config.DATABASE_URL;
  if (url === undefined) {
    const postgres = await startEmbedded({ dataDir: config.DATA_DIR });
    stops.push(() => postgres.stop());
    url = postgres.url();
  }
  await requireSupportedPostgres(url, config.DATABASE_CONNECT_TIMEOUT_MS);
  await migrate(url);
  return url;
}

/** A person sees where the server is, and once the tokens of the demo; the log lines are for machines. */
function greet(app: FastifyInstance, tokens: DemoTokens | undefined) {
  const { address, family, port } = app.server.address() as AddressInfo;
  const isEverywhere = address === '0.0.0.0' || address === '::';
  const host = isEverywhere ? 'localhost' : family === 'IPv6' ? `[${address}]` : address;
  const baseUrl = `http://${host}:${port}`;
  process.stdout.write(`\nIdea-Board listens on ${baseUrl}, and its documentation is at ${baseUrl}/docs\n`);
  if (tokens) process.stdout.write(describeDemo(baseUrl, tokens));
  process.stdout.write('\n');
}

function stopOnSignal(logger: Logger, stop: () => Promise<void>) {
  let isStopping = false;
  const onSignal = (signal: string) => {
    // A terminal's Ctrl-C reaches the process twice, once through npm: the second changes nothing.
    if (isStopping) return;
    isStopping = true;
    logger.info({ signal }, 'stopping');
    setTimeout(() => {
      logger.error('stopping took too long');
      process.exit(1);
    }, stopDeadlineMs).unref();
    stop().then(
      () => process.exit(0),
      error => {
        logger.error({ err: error }, 'stopping failed');
        process.exit(1);
      },
    );
  };
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, onSignal);
}
