import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import type { TestProject } from 'vitest/node';
import { startEmbeddedPostgres } from '../../server/database/embedded-postgres.ts';
import { migrate } from '../../server/database/migrator.ts';

export const templateDatabase = 'migrated_template';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the PostgreSQL that the test files share, to its maintenance database. */
    postgresUrl: string;
  }
}

/** Starts one PostgreSQL for the whole run, with a migrated database that each test file clones. */
export default async function setup(project: TestProject) {
  const dataDir = await mkdtemp(join(tmpdir(), 'idea-board-test-'));
  // As root, PostgreSQL runs as another user, who must be able to enter: else the cluster would live elsewhere.
  await chmod(dataDir, 0o755);
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false, settings: { max_connections: '300' } });
  const client = new pg.Client({ connectionString: postgres.url('postgres') });
  await client.connect();
  await client.query(`create database ${templateDatabase}`);
  await client.end();
  await migrate(postgres.url(templateDatabase));
  project.provide('postgresUrl', postgres.url('postgres'));
  return async () => {
    await postgres.stop();
    await rm(dataDir, { recursive: true, force: true });
  };
}
