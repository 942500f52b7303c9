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
    /** The URL of a PostgreSQL that all test files share. The URL leads to its maintenance database. */
    postgresUrl: string;
  }
}

/**
 * Starts one PostgreSQL for all test files, and creates the template database with all migrations. Each test file
 * copies this template. Also bundles the programs that tests run.
 */
export default async function setup(project: TestProject) {
  // Warns if Chromium is missing, and sets a variable that suppresses further warnings. The test workers start later
  // and inherit this variable.
  findChromium();
  const dataDir = await makeScratchDirectory();
  // These settings turn off features of PostgreSQL that only a long-lived server needs.
  const savings = { max_connections: '300', max_wal_size: '256MB', autovacuum: 'off', io_method: 'sync' };
  // PostgreSQL has no statistics of new tables yet. Without this setting, it would start processes for parallel queries
  // on only a few rows.
  const parallel = { max_parallel_workers_per_gather: '0' };
  // With the default deadlock_timeout, a deadlock in a test would last a second. A session cannot change this setting
  // without a superuser. Most connections of tests run a statement only a few times, so one plan for all arguments
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
