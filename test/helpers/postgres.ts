import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../server/database/embedded/embedded-postgres.ts';
import { migrate } from '../../server/database/migrator.ts';
import { findChromium } from '../client/runtimes.ts';
import { bundlePrograms } from './programs.ts';
import { makeScratchDirectory } from './scratch-directory.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of a PostgreSQL that all test files share. The URL leads to its maintenance database. */
    postgresUrl: string;
    /** The name of a database with all migrations. Each test file copies this database. */
    templateDatabase: string;
    /** The first part of the names of all databases that this run creates besides the template. */
    databasePrefix: string;
    /** A directory for packages that tests have packed, so that each package is packed only once. */
    packedPackages: string;
  }
}

/** A PostgreSQL for all test files. */
interface SharedPostgres {
  /** The URL of the maintenance database. */
  url: string;
  stop(): Promise<void>;
}

/**
 * Prepares one PostgreSQL for all test files, and creates the template database with all migrations. With
 * TEST_DATABASE_URL, the test files share the PostgreSQL at this URL. Tests that restart or configure PostgreSQL start
 * their own. Also bundles the programs that tests run.
 */
export default async function setup(project: TestProject) {
  // Warns if Chromium is missing, and sets a variable that suppresses further warnings. The test workers start later
  // and inherit this variable.
  findChromium();
  const givenUrl = process.env.TEST_DATABASE_URL;
  const postgres = givenUrl ? { url: givenUrl, stop: async () => {} } : await startPostgres();
  // A run that was killed leaves its template behind, so every run has a template with a name of its own.
  const run = randomBytes(8).toString('hex');
  const template = `template_${run}`;
  const databasePrefix = `test_${run}_`;
  const packedPackages = await mkdtemp(join(tmpdir(), 'idea-board-packed-'));
  const stop = async () => {
    await rm(packedPackages, { recursive: true });
    // The database of the last test file of each process still exists, because restoreDatabase() kept it.
    const drops = `select format('drop database %I with (force)', datname) as sql from pg_database
      where datname = '${template}' or starts_with(datname, '${databasePrefix}')`;
    try {
      for (const { sql } of await maintain(postgres.url, drops)) await maintain(postgres.url, sql);
    } finally {
      await postgres.stop();
    }
  };
  // If the setup fails, for example because of a migration error, PostgreSQL must not keep running.
  await Promise.all([makeTemplate(postgres.url, template), bundlePrograms()]).catch(async error => {
    await stop();
    throw error;
  });
  project.provide('postgresUrl', postgres.url);
  project.provide('templateDatabase', template);
  project.provide('databasePrefix', databasePrefix);
  project.provide('packedPackages', packedPackages);
  return stop;
}

async function startPostgres(): Promise<SharedPostgres> {
  const dataDir = await makeScratchDirectory();
  // The tests need many connections, but no autovacuum, no I/O workers and only a small write-ahead log.
  const savings = { max_connections: '300', max_wal_size: '256MB', autovacuum: 'off', io_method: 'sync' };
  // PostgreSQL has no statistics of new tables yet. Without this setting, it would start processes for parallel queries
  // on only a few rows.
  const parallel = { max_parallel_workers_per_gather: '0' };
  // With the default deadlock_timeout, a deadlock in a test would last a second. A session cannot change this setting
  // without a superuser. Most connections of tests run a statement only a few times, so one plan for all arguments
  // saves time.
  const settings = { ...savings, ...parallel, deadlock_timeout: '100ms', plan_cache_mode: 'force_generic_plan' };
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false, settings });
  return {
    url: postgres.url('postgres'),
    async stop() {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

async function makeTemplate(postgresUrl: string, name: string) {
  await maintain(postgresUrl, `create database ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  await migrate(url.href);
}

async function maintain(url: string, sql: string) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
