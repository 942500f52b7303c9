import { expect, onTestFinished } from 'vitest';
import { buildApp } from '../../server/app.ts';
import { type Config, loadConfig } from '../../server/config.ts';
import type { ServerDependencies } from '../../server/dependencies.ts';
import { buildPasswords } from '../../server/domain/sign-in/passwords.ts';
import { type Clock, systemClock } from '../../server/domain/time.ts';
import { buildAuditLog } from '../../server/observability/audit-log.ts';
import { silentReporter } from '../../server/observability/error-reporter.ts';
import { buildLogger } from '../../server/observability/logger.ts';
import { buildRedactor } from '../../server/observability/redactor.ts';
import { watchResponses } from './contract-check.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';
import { closeAfterAll } from './for-file.ts';

export interface TestServer extends TestDatabase {
  /** The URL of the server: http://127.0.0.1:<port> */
  baseUrl: string;
  config: Config;
  /** The dependencies of the server. A test can start a worker with the same dependencies. */
  dependencies: ServerDependencies;
  logLines: string[];
  auditLines: string[];
  /**
   * Adds a function that runs before the server closes. The functions run in reverse order: the function that was added
   * last runs first.
   */
  beforeClose(cleanUp: () => Promise<unknown>): void;
  /**
   * Stops the server, and drops the database if the server created one. Fails if a response of the server violated the
   * contract.
   */
  close(): Promise<void>;
}

export interface TestServerOptions {
  clock?: Clock;
  /** Environment variables of the server. By default the rate limits are so high that no test reaches them. */
  environment?: Record<string, string>;
  /** Dependencies that replace the defaults. */
  dependencies?: Partial<ServerDependencies>;
  /** An existing database, which the server does not drop. By default, the server gets a new database. */
  on?: TestDatabase;
}

/** The application key (APP_KEY) of every test server. */
export const testAppKey = Buffer.alloc(32, 7);

const highLimits = { RATE_LIMIT_READ: '1000000', RATE_LIMIT_WRITE: '1000000', RATE_LIMIT_IP: '1000000' };

/** Starts a server on a free port of 127.0.0.1. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const testDatabase = options.on ?? (await createTestDatabase());
  const config = loadConfig({ ...highLimits, ...options.environment });
  const logLines: string[] = [];
  const logger = buildLogger({ ...config, APP_KEY: testAppKey }, { write: line => logLines.push(line) });
  const { database } = testDatabase;
  const auditLines: string[] = [];
  const redactor = buildRedactor({ appKey: testAppKey, settings: config });
  const dependencies: ServerDependencies = {
    config,
    logger,
    database,
    clock: options.clock ?? systemClock,
    appKey: testAppKey,
    audit: buildAuditLog({ destination: { write: line => auditLines.push(line) }, redactor }),
    reporter: silentReporter,
    // With the cost of password hashing in production, each sign-in of a test would take seconds.
    passwords: buildPasswords({ memoryKib: 8, passes: 1 }),
    extensions: [],
    ...options.dependencies,
  };
  const app = await buildApp(dependencies);
  const cleanUps: (() => Promise<unknown>)[] = [];
  const violations = watchResponses(app.server);
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ...testDatabase,
    baseUrl,
    config,
    dependencies,
    logLines,
    auditLines,
    beforeClose: cleanUp => cleanUps.push(cleanUp),
    async close() {
      for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
      await app.close();
      if (!options.on) await testDatabase.drop();
      expect(violations, 'responses that violate the contract').toEqual([]);
    },
  };
}

/** Starts a server that closes after the last test of the file. */
export async function startServerForFile(options: TestServerOptions = {}): Promise<TestServer> {
  return closeAfterAll(await startServer(options));
}

/** Starts a server that closes at the end of the test. */
export async function startServerForTest(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(options);
  onTestFinished(() => server.close());
  return server;
}
