import type { Kysely } from 'kysely';
import type { Tables } from '../database/tables.ts';
import { selectIncarnation } from '../domain/events/event-feed.ts';
import { compareTallies } from '../domain/ideas/compare-tallies.ts';
import { countRows } from './catalogs.ts';
import type { Manifest } from './manifest.ts';
import { markSchema } from './restore-mark.ts';
import { countSecrets, type SecretCounts } from './secrets.ts';

interface TableDifference {
  table: string;
  backup: number | null;
  database: number | null;
}

export interface RowComparison {
  compared: number;
  differences: TableDifference[];
}

export type SecretComparison = SecretCounts & { decrypted_in_backup: number };
export type TallyComparison = Awaited<ReturnType<typeof compareTallies>>;

export interface Verification {
  tables: RowComparison;
  /**
   * Null if the database has pending migrations. This version of the server cannot compare tallies in the tables of an
   * older version.
   */
  tallies: TallyComparison | null;
  secrets: SecretComparison;
  /**
   * False if the restored database has the same identity as the original. Clients with cursors from the original could
   * then miss events.
   */
  has_new_incarnation: boolean;
}

/** Compares a restored database with the manifest of its backup. */
export async function verifyDatabase(
  db: Kysely<Tables>,
  manifest: Pick<Manifest, 'tables' | 'secrets' | 'incarnation'>,
  { appKey, isMigrated }: { appKey: Uint8Array; isMigrated: boolean },
): Promise<Verification> {
  return {
    tables: await verifyRows(db, manifest),
    tallies: isMigrated ? await compareTallies(db) : null,
    secrets: await verifySecrets(db, manifest, appKey),
    has_new_incarnation: (await selectIncarnation(db)) !== manifest.incarnation,
  };
}

export async function verifyRows(db: Kysely<Tables>, { tables }: Pick<Manifest, 'tables'>) {
  return compareCounts(tables, await countRows(db, markSchema));
}

export async function verifySecrets(db: Kysely<Tables>, { secrets }: Pick<Manifest, 'secrets'>, appKey: Uint8Array) {
  return { ...(await countSecrets(db, appKey)), decrypted_in_backup: secrets.decrypted };
}

function compareCounts(backup: Record<string, number>, database: Record<string, number>): RowComparison {
  const names = [...new Set([...Object.keys(backup), ...Object.keys(database)])].sort();
  const compared = names.map(table => ({
    table,
    backup: backup[table] ?? null,
    database: database[table] ?? null,
  }));
  return { compared: names.length, differences: compared.filter(one => one.backup !== one.database) };
}

export function isVerified({ tables, tallies, secrets, has_new_incarnation }: Verification): boolean {
  return (
    tables.differences.length === 0 &&
    (tallies?.drifted ?? 0) === 0 &&
    secrets.decrypted >= secrets.decrypted_in_backup &&
    has_new_incarnation
  );
}
