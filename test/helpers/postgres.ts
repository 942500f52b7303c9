import { rm } from 'node:fs/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../server/database/embedded/embedded-postgres.ts';
import { migrate } from '../../server/database/migrator.ts';
import { findChromium } from '../client/runtimes.ts';
import { makeScratchDirectory } from './scratch-directory.ts';

export const templateDatabase = 'migrated_template';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the PostgreSQL that the test files share, to its maintenance database. */
    postgresUrl: string;
  }
}

/** Starts one PostgreSQL for the whole run, with a migrated database that each test file clones. */
export default async function setup(project: TestProject) {
  // Before there are workers, which take over that it was said.
  findChromium();
  const dataDir = await makeScratchDirectory();
  // What a server needs that lives for long, or reads from a disk, costs here without being of use.
  const savings = { max_connections: '300', max_wal_size: '256MB', autovacuum: 'off', io_method: 'sync' };
  // A test of deadlocks would wait a second for each, and a session may not set this for itself.
  const settings = { ...savings, deadlock_timeout: '100ms' };
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false, settings });
  const stop = async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  // A run that cannot begin leaves no PostgreSQL behind: such as with a migration that is being written.
  await makeTemplate(postgres).catch(async error => {
    await stop();
    throw error;
  });
  project.provide('postgresUrl', postgres.url('postgres'));
  return stop;
}

async function makeTemplate(postgres: EmbeddedPostgres) {
  const client = new pg.Client({ connectionString: postgres.url('postgres') });
  await client.connect();
  await client.query(`create database ${templateDatabase}`);
  await client.end();
  await migrate(postgres.url(templateDatabase));
}
