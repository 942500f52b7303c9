import type { MigrationStream } from '../../database/migration-files.ts';
import { MigrationError } from '../../database/migration-files.ts';
import { listPendingMigrations } from '../../database/migrator.ts';
import { error, type Finding, ok } from './finding.ts';

/** Compares the migrations of this version with those of the database. */
export async function diagnoseMigrations(
  url: string,
  streams: readonly MigrationStream[],
  tolerated: readonly string[],
): Promise<{ findings: Finding[]; isMigrated: boolean }> {
  try {
    const pending = await listPendingMigrations(url, streams, { tolerated });
    if (pending.length === 0) return { findings: [ok('Every migration is applied')], isMigrated: true };
    const names = pending.map(({ stream, name }) => `${stream}/${name}`).join(', ');
    return { findings: [error(`Migrations are pending: ${names}`, 'Run npm run cli -- migrate')], isMigrated: false };
  } catch (failure) {
    if (!(failure instanceof MigrationError)) throw failure;
    const remedy =
      'Run the version of the server that migrated the database, with its files as they were published; see docs/upgrading.md';
    return { findings: [error(failure.message, remedy)], isMigrated: false };
  }
}
