/** Generates docs/schema.sql from the migrations. */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbeddedPostgres } from '../server/database/embedded/embedded-postgres.ts';
import { migrate } from '../server/database/migrator.ts';
import { writeGenerated } from './generated-file.ts';
import { describeSchema } from './schema/describe-schema.ts';

const dataDir = await mkdtemp(join(tmpdir(), 'idea-board-schema-'));
try {
  // If this process runs as root, PostgreSQL runs as another system user, who needs access to the directory.
  await chmod(dataDir, 0o711);
  writeGenerated('docs/schema.sql', await readMigratedSchema(), 'schema');
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
