import type { Database } from '../database/database.ts';
import { invalid } from '../domain/administration.ts';
import type { Placed } from './import-batch.ts';
import { type ReadMeter, readArchive } from './input.ts';
import type { SourceOptions } from './sources/foreign-records.ts';
import { sources } from './sources/sources.ts';
import { exists } from './sources/tables.ts';

interface OpenOptions extends Omit<SourceOptions, 'registries'> {
  /** The product that wrote the files. Undefined for an archive of this product. */
  from: keyof typeof sources | undefined;
}

/** Returns a function that reads the records of an archive or of the files of another product from the beginning. */
export async function openRecords(
  database: Database,
  accountId: number,
  path: string,
  { from, ...options }: OpenOptions,
  meter: ReadMeter,
): Promise<() => AsyncIterable<Placed>> {
  if (!(await exists(path))) throw invalid(`There is no file ${path}`);
  if (from === undefined) return () => readArchive(path, meter);
  const registries = await readRegistries(database, accountId);
  return () => sources[from](path, { ...options, registries });
}

/** Reads the statuses of the account's boards. The ideas of another product get the nearest of these statuses. */
async function readRegistries({ db }: Database, accountId: number): Promise<SourceOptions['registries']> {
  const statuses = await db
    .selectFrom('statuses as s')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 's.board_id').on('b.account_id', '=', accountId))
    .select(['b.slug', 's.key', 's.category', 's.label'])
    .where('s.account_id', '=', accountId)
    .orderBy('s.position')
    .orderBy('s.id')
    .execute();
  return Map.groupBy(statuses, ({ slug }) => slug);
}
