/** Generates docs/schema.sql from the migrations. */
import pg from 'pg';
import { migrate } from '../server/database/migrator.ts';
import { startOwnPostgres } from '../test/helpers/own-postgres.ts';
import { writeGenerated } from './generated-file.ts';
import { describeSchema } from './schema/describe-schema.ts';

const postgres = await startOwnPostgres();
const client = new pg.Client({ connectionString: postgres.url });
try {
  await migrate(postgres.url);
  await client.connect();
  writeGenerated('docs/schema.sql', await describeSchema(client), 'schema');
} finally {
  await client.end();
  await postgres.close();
}
