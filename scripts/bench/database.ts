import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAlone } from '../../server/database/embedded/cluster-access.ts';
import { startEmbeddedPostgres } from '../../server/database/embedded/embedded-postgres.ts';
import { locatePostgresBinaries } from '../../server/database/embedded/postgres-binaries.ts';
import { findCluster } from '../../server/database/embedded/postgres-cluster.ts';
import { migrate } from '../../server/database/migrator.ts';

/**
 * Starts a migrated PostgreSQL of the benchmark's own with the settings of production: it writes every commit to the disk.
 * What takes it down again is added to stops.
 */
export async function startDatabase(stops: (() => Promise<unknown>)[]): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'idea-board-bench-'));
  // PostgreSQL's user must get in when root runs this: else the cluster would be put elsewhere, and stay there.
  await chmod(dataDir, 0o711);
  const starting = startForSeeding(dataDir);
  stops.push(async () => {
    // One that is still starting would go on in a directory that is gone.
    await starting.then(
      postgres => postgres.stop(),
      () => {},
    );
    await rm(dataDir, { recursive: true, force: true });
  });
  const postgres = await starting;
  await migrate(postgres.url());
  return postgres.url();
}

/** The seed skips the checks of foreign keys and makes checkpoints, which the application role may not do. */
async function startForSeeding(dataDir: string) {
  await (await startEmbeddedPostgres({ dataDir })).stop();
  const cluster = await findCluster(dataDir);
  if (cluster === undefined) throw new Error(`there is no database in ${dataDir}`);
  const grant = `do $$ begin
  grant pg_checkpoint to idea_board;
  grant set on parameter session_replication_role to idea_board;
end $$;\n\n`;
  await runAlone(cluster, await locatePostgresBinaries(), 'postgres', grant);
  return startEmbeddedPostgres({ dataDir });
}
