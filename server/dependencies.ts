import type { Logger } from 'pino';
import type { Config } from './config.ts';
import type { Database } from './database/database.ts';
import type { Clock } from './domain/clock.ts';

/** What the server is built from. */
export interface ServerDependencies {
  config: Config;
  database: Database;
  clock: Clock;
  logger: Logger;
  /** What encrypts secrets at rest and keys hashes: 32 bytes. */
  appKey: Buffer;
}
