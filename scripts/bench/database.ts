import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startEmbeddedPostgres } from '../../server/database/embedded-postgres.ts';
import { migrate } from '../../server/database/migrator.ts';

/**
 * Starts a migrated PostgreSQL of the benchmark's own with the settings of production: it writes every commit to the disk.
 * What takes it down again is added to stops.
 */
export async function startDatabase(stops: (() => Promise<unknown>)[]): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'idea-board-bench-'));
  // PostgreSQL's user must get in when root runs this: else the cluster would be put elsewhere, and stay there.
  await chmod(dataDir, 0o711);
  const starting = startEmbeddedPostgres({ dataDir });
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
