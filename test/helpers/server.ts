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

export interface TestServer extends TestDatabase {
  /** http://127.0.0.1:<port> */
  baseUrl: string;
  config: Config;
  /** The dependencies of the server, for a worker beside it. */
  dependencies: ServerDependencies;
  /** All lines of the log. */
  logLines: string[];
  /** All lines of the audit log. */
  auditLines: string[];
  /** Adds a cleanup function for the close of the server. The last one runs first. */
  beforeClose(cleanUp: () => Promise<unknown>): void;
  /** Stops the server and drops its database. Fails if a response did not match the contract. */
  close(): Promise<void>;
}

export interface TestServerOptions {
  clock?: Clock;
  /** Environment variables. The default rate limits are too high to matter. */
  environment?: Record<string, string>;
  /** Replaces dependencies of the server. */
  dependencies?: Partial<ServerDependencies>;
  /** An existing database, which the server does not drop. By default the server creates its own. */
  on?: TestDatabase;
}

/** The application key of every test. */
export const testAppKey = Buffer.alloc(32, 7);

const highLimits = { RATE_LIMIT_READ: '1000000', RATE_LIMIT_WRITE: '1000000', RATE_LIMIT_IP: '1000000' };

/** Starts a server on a free port of the loopback. */
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
    // The hashing cost of production would take seconds in each test of signing in.
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

/** Starts a server that closes at the end of the test. */
export async function startServerForTest(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(options);
  onTestFinished(() => server.close());
  return server;
}
