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
  /** What the server was built from, for a worker beside it. */
  dependencies: ServerDependencies;
  /** Every line that the server logged. */
  logLines: string[];
  /** Every line of its audit log. */
  auditLines: string[];
  /** Has something undone when the server stops, the last first. */
  beforeClose(undo: () => Promise<unknown>): void;
  /** Stops the server, drops its database, and fails when an answer was not what the contract declares. */
  close(): Promise<void>;
}

export interface TestServerOptions {
  clock?: Clock;
  /** Settings by their variables. The limits are far away unless they are given. */
  environment?: Record<string, string>;
  /** What stands in for what the server would have by itself. */
  dependencies?: Partial<ServerDependencies>;
  /** A database to serve, such as another server's, which is left there; else the server has its own. */
  on?: TestDatabase;
}

/** The application key of every test. */
export const testAppKey = Buffer.alloc(32, 7);

const farLimits = { RATE_LIMIT_READ: '1000000', RATE_LIMIT_WRITE: '1000000', RATE_LIMIT_IP: '1000000' };

/** Starts a server on a free port of the loopback, with a database of its own. */
export async function startServer(options: TestServerOptions = {}): Promise<TestServer> {
  const testDatabase = options.on ?? (await createTestDatabase());
  const config = loadConfig({ ...farLimits, ...options.environment });
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
    // Of the production's costs, a test of signing in would take seconds.
    passwords: buildPasswords({ memoryKib: 8, passes: 1 }),
    extensions: [],
    ...options.dependencies,
  };
  const app = await buildApp(dependencies);
  const undoing: (() => Promise<unknown>)[] = [];
  const violations = watchResponses(app.server);
  const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ...testDatabase,
    baseUrl,
    config,
    dependencies,
    logLines,
    auditLines,
    beforeClose: undo => undoing.push(undo),
    async close() {
      for (const undo of undoing.splice(0).reverse()) await undo();
      await app.close();
      if (!options.on) await testDatabase.drop();
      expect(violations, 'answers that the contract does not declare').toEqual([]);
    },
  };
}

/** The same, for one test. */
export async function startServerForTest(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startServer(options);
  onTestFinished(() => server.close());
  return server;
}
