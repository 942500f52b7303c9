import { rm } from 'node:fs/promises';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../server/database/embedded/embedded-postgres.ts';
import { migrate } from '../../server/database/migrator.ts';
import { findChromium } from '../client/runtimes.ts';
import { bundlePrograms } from './programs.ts';
import { makeScratchDirectory } from './scratch-directory.ts';

export const templateDatabase = 'migrated_template';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the maintenance database of the PostgreSQL that all test files share. */
    postgresUrl: string;
  }
}

/**
 * Starts one PostgreSQL for all test files, with a migrated template database that each test file copies. Bundles the
 * programs that tests run.
 */
export default async function setup(project: TestProject) {
  // Warns if Chromium is missing. The test workers start later and inherit a variable that suppresses the warning.
  findChromium();
  const dataDir = await makeScratchDirectory();
  // Turns off features of PostgreSQL that only a long-lived server needs.
  const savings = { max_connections: '300', max_wal_size: '256MB', autovacuum: 'off', io_method: 'sync' };
  // PostgreSQL has no statistics of new tables. It would start processes for parallel queries on a few rows.
  const parallel = { max_parallel_workers_per_gather: '0' };
  // With the default deadlock_timeout, a deadlock in a test would last a second, and only a superuser may change this
  // setting in a session. Most connections of tests run a statement only a few times, so one plan for all arguments
  // saves time.
  const settings = { ...savings, ...parallel, deadlock_timeout: '100ms', plan_cache_mode: 'force_generic_plan' };
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false, settings });
  const stop = async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
  // If the setup fails, for example because of a migration error, PostgreSQL must not keep running.
  await Promise.all([makeTemplate(postgres), bundlePrograms()]).catch(async error => {
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
