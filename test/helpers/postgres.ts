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
    /** The URL of the maintenance database of the shared PostgreSQL. */
    postgresUrl: string;
  }
}

/** Starts one PostgreSQL for the whole run, with a migrated template database that each test file clones. */
export default async function setup(project: TestProject) {
  // Runs before the workers start, so that they inherit the note that the warning was printed.
  findChromium();
  const dataDir = await makeScratchDirectory();
  // Turns off features that only a long-lived server needs.
  const savings = { max_connections: '300', max_wal_size: '256MB', autovacuum: 'off', io_method: 'sync' };
  // Tests of deadlocks would wait a second for each one. Only a superuser may change this setting in a session.
  const settings = { ...savings, deadlock_timeout: '100ms' };
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false, settings });
  const stop = async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  // A failed setup, for example with an unfinished migration, must not leave PostgreSQL running.
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
