import { sql } from 'kysely';
import type { Database, Transaction } from '../database/database.ts';
import { requireUsableAccount } from '../domain/accounts/find-account.ts';
import type { AuditTrail } from '../domain/administration.ts';
import {
  type ArchiveRecord,
  type Origin,
  parseRecord,
  type RecordOf,
  type RecordType,
  recordTypes,
  shorten,
} from './archive.ts';
import { isNumbered, readOrigin, reserveIds } from './external-ids.ts';
import type { ImportBatch, ImportOptions, Placed, PlacedRecord, SeenRows } from './import-batch.ts';
import { importIdeas } from './import-ideas.ts';
import { importPeople } from './import-people.ts';
import { importBoards, importStatuses, importTags } from './import-registry.ts';
import { importComments, importNotes } from './import-texts.ts';
import { importFollowers, importMerges, importVoters, importVotes } from './import-votes.ts';

/** Receives the reports of a running import. */
export interface ImportWitness {
  /** Reports that the import wrote nothing for a record. */
  refused(place: string, reason: string): void;
  /** Reports that the import wrote a record with a difference from the input. */
  warned(place: string, reason: string): void;
  /** Reports how many records the import has written, skipped and refused so far. */
  progressed(counts: ImportCounts): void;
}

export interface ImportCounts {
  /** The number of written records, by type. */
  imported: Partial<Record<RecordType, number>>;
  /**
   * The number of records that the import neither wrote nor refused, by type. For example, the account has them
   * already, or somebody has deleted their idea.
   */
  skipped: Partial<Record<RecordType, number>>;
  refused: number;
}

/**
 * Writes a batch of records of one type. Returns the number of written records. The caller counts records as skipped if
 * this function neither wrote nor refused them.
 */
type Importer<Type extends RecordType> = (
  batch: ImportBatch,
  records: readonly PlacedRecord<Extract<ArchiveRecord, { type: Type }>>[],
) => Promise<number>;

const importers: { readonly [Type in RecordType]: Importer<Type> } = {
  person: importPeople,
  board: importBoards,
  status: importStatuses,
  tag: importTags,
  idea: importIdeas,
  comment: importComments,
  note: importNotes,
  voter: importVoters,
  vote: importVotes,
  merge: importMerges,
  follower: importFollowers,
};

/** The number of records that the import sorts by their types before it writes them. Each type is then one batch. */
const windowSize = 5_000;

/**
 * Runs the work of one batch in a transaction, which also stores the audit entries. A dry run has only one transaction,
 * which is rolled back at the end. There, the work of a batch runs in a savepoint, and audit entries are ignored.
 */
type Scope = <T>(work: (transaction: Transaction, audit: AuditTrail) => Promise<T>) => Promise<T>;

/**
 * Imports records into an account. Each batch of records is one transaction, except in a dry run. The external ids of
 * the records tell a later import which records it can skip. So a killed import continues if the operator starts it
 * again.
 *
 * The import records no events: there are no webhooks, chat messages, notifications or mails about old ideas.
 */
export async function importAccount(
  database: Database,
  read: () => AsyncIterable<Placed>,
  given: ImportOptions,
  witness: ImportWitness,
  collectAudit: () => { trail: AuditTrail; leave(transaction: Transaction): Promise<void> },
): Promise<ImportCounts> {
  const options = { ...given, origin: await readOrigin(database.db, given.accountId) };
  if (!options.isDryRun) {
    return importRecords(read(), options, witness, work =>
      database.transaction(async transaction => {
        // The commits need not wait for the disk: if PostgreSQL loses the last ones in a crash, a repeated import writes
        // their records.
        await sql`set local synchronous_commit = off`.execute(transaction.db);
        const audit = collectAudit();
        const result = await work(transaction, audit.trail);
        await audit.leave(transaction);
        return result;
      }),
    );
  }
  let counts: ImportCounts | undefined;
  const rollback = new Error('The dry run ends with a rollback');
  await database
    .transaction(async transaction => {
      counts = await importRecords(read(), options, witness, work => withSavepoint(transaction, work));
      throw rollback;
    })
    .catch(error => {
      if (error !== rollback) throw error;
    });
  if (!counts) throw rollback;
  return counts;
}

async function withSavepoint<T>(
  transaction: Transaction,
  work: (transaction: Transaction, audit: AuditTrail) => Promise<T>,
): Promise<T> {
  await sql`savepoint batch`.execute(transaction.db);
  try {
    const result = await work(transaction, { record() {} });
    await sql`release savepoint batch`.execute(transaction.db);
    return result;
  } catch (error) {
    await sql`rollback to savepoint batch`.execute(transaction.db);
    throw error;
  }
}

async function importRecords(
  source: AsyncIterable<Placed>,
  options: BatchContext['options'],
  witness: ImportWitness,
  scope: Scope,
): Promise<ImportCounts> {
  const counts: ImportCounts = { imported: {}, skipped: {}, refused: 0 };
  const refuse = (place: string, reason: string) => {
    counts.refused += 1;
    witness.refused(place, reason);
  };
  const context = { options, witness, scope, counts, seen: new Map(), refuse };
  const flush = async (window: readonly PlacedRecord[]) => {
    for (const type of recordTypes) {
      const records = window.filter(({ record }) => record.type === type);
      if (records.length > 0) await importInLanes(type, records, context);
    }
    witness.progressed(counts);
  };
  const used = new Map<RecordType, Set<string>>(recordTypes.map(type => [type, new Set()]));
  let window: PlacedRecord[] = [];
  // The import reads and checks the next records while PostgreSQL writes the previous ones.
  let written = Promise.resolve();
  const write = async () => {
    await written;
    written = flush(window);
    // This handler prevents an unhandled rejection. The next write, or the last `await`, throws the error.
    written.catch(() => {});
    window = [];
  };
  try {
    for await (const { place, value, problem } of source) {
      const parsed = problem !== undefined ? { problem } : parseRecord(options.shortens ? shorten(value) : value);
      if ('problem' in parsed) {
        refuse(place, parsed.problem);
        continue;
      }
      const { record } = parsed;
      if ('id' in record) {
        if (used.get(record.type)?.has(record.id)) {
          refuse(place, `${record.type}: an earlier record has the same id, ${JSON.stringify(record.id)}`);
          continue;
        }
        used.get(record.type)?.add(record.id);
      }
      window.push({ place, record });
      if (window.length === windowSize) await write();
    }
    await write();
    await written;
  } finally {
    // If the source fails, the transactions must end before the caller closes the database.
    await Promise.allSettled([written]);
  }
  return counts;
}

interface BatchContext {
  options: ImportOptions & Origin;
  witness: ImportWitness;
  scope: Scope;
  counts: ImportCounts;
  seen: SeenRows;
  refuse(place: string, reason: string): void;
}

/**
 * The number of transactions that write at the same time. More transactions would be faster only with more processors.
 */
const laneCount = 2;

/**
 * Writes a batch of records in several transactions at the same time. All records of an idea are in one transaction,
 * because each transaction locks the ideas of its records.
 */
async function importInLanes(type: RecordType, records: readonly PlacedRecord[], context: BatchContext): Promise<void> {
  const { options, scope, seen } = context;
  const numbered = isNumbered(type)
    ? await scope(({ db }) => reserveIds({ db, options, seen }, type, records as PlacedRecord<RecordOf<typeof type>>[]))
    : records;
  const lanes = Map.groupBy<number, PlacedRecord>(numbered, laneOf(options.isDryRun));
  const outcomes = await Promise.allSettled([...lanes.values()].map(lane => importBatch(type, lane, context)));
  for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Returns a function that chooses the transaction of a record. A dry run has only one transaction. */
function laneOf(isDryRun: boolean): (placed: PlacedRecord) => number {
  const lanes = new Map<string, number>();
  return ({ record }) => {
    const idea = record.type === 'idea' ? record.id : 'idea' in record ? record.idea : undefined;
    if (isDryRun || idea === undefined) return 0;
    const lane = lanes.get(idea) ?? lanes.size % laneCount;
    lanes.set(idea, lane);
    return lane;
  };
}

/**
 * Writes a batch of records. If the database refuses the batch because of one record, writes the records one by one,
 * and refuses only this record.
 */
async function importBatch(type: RecordType, records: readonly PlacedRecord[], context: BatchContext): Promise<void> {
  const { options, witness, scope, counts, seen, refuse } = context;
  try {
    const outcome = await scope(async ({ db, query }, audit) => {
      // The database may run this function several times. So the function collects its reports, and only the reports of
      // the last run count.
      const refused: [place: string, reason: string][] = [];
      const warned: [place: string, reason: string][] = [];
      await requireUsableAccount(db, options.accountId);
      const batch: ImportBatch = {
        db,
        query,
        options,
        seen,
        audit,
        refuse: (...refusal) => void refused.push(refusal),
        warn: (...warning) => void warned.push(warning),
      };
      // The casts are safe, because all records have the type that selects the importer. TypeScript cannot see this.
      const imported = await (importers[type] as Importer<RecordType>)(batch, records as never);
      return { imported, refused, warned };
    });
    for (const refusal of outcome.refused) refuse(...refusal);
    for (const warning of outcome.warned) witness.warned(...warning);
    const skipped = records.length - outcome.imported - outcome.refused.length;
    counts.imported[type] = (counts.imported[type] ?? 0) + outcome.imported;
    counts.skipped[type] = (counts.skipped[type] ?? 0) + skipped;
  } catch (error) {
    const { code, constraint } = error as { code?: string; constraint?: string };
    if (!code?.startsWith(integrityViolations)) throw error;
    const [only, ...others] = records;
    if (only && others.length === 0) refuse(only.place, `${type}: the database refused it (${constraint ?? code})`);
    else for (const record of records) await importBatch(type, [record], context);
  }
}

/** The class of PostgreSQL's error codes for violated constraints. */
const integrityViolations = '23';
