/** Writes docs/schema.sql from the migrations; with --check, only fails when the file is not up to date. */
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../server/database/embedded/embedded-postgres.ts';
import { migrate } from '../server/database/migrator.ts';
import { describeSchema } from './schema/describe-schema.ts';

const file = new URL('../docs/schema.sql', import.meta.url);

const dataDir = await mkdtemp(join(tmpdir(), 'idea-board-schema-'));
try {
  // As root, PostgreSQL runs as another user, who must be able to enter.
  await chmod(dataDir, 0o711);
  const text = await readMigratedSchema();
  if (!process.argv.includes('--check')) {
    await writeFile(file, text);
  } else if ((await readFile(file, 'utf8')) !== text) {
    console.error('docs/schema.sql is not what the migrations make: run npm run schema and commit the result');
    process.exitCode = 1;
  }
} finally {
  await rm(dataDir, { recursive: true, force: true });
}

async function readMigratedSchema(): Promise<string> {
  const postgres = await startEmbeddedPostgres({ dataDir, durable: false });
  const client = new pg.Client({ connectionString: postgres.url() });
  try {
    await migrate(postgres.url());
    await client.connect();
    return await describeSchema(client);
  } finally {
    await client.end();
    await postgres.stop();
  }
}
