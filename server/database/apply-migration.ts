import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { MigrationError } from './migration-error.ts';
import type { MigrationFile } from './migration-files.ts';
import { resetSession } from './migration-session.ts';

export interface TableLockOptions {
  /** How long a statement waits for a table's lock. */
  lockTimeoutMs?: number | undefined;
  /** How often a migration is tried that did not get its locks. */
  tries?: number | undefined;
  /** How long what waits for the tables has, before the migration is in its way again. */
  pauseMs?: number | undefined;
}

/**
 * Requests that need a table wait behind a migration that waits for the table's lock. So a migration gives up before
 * such a request does, and tries again: 25 times, in a minute and a half.
 */
const defaults = { lockTimeoutMs: 500, tries: 25, pauseMs: 3_000 };

/** What PostgreSQL says of a lock that was not had in time, and of one that could not be had at all. */
const lockNotAvailable = '55P03';
const deadlock = '40P01';
/** A statement such as create index concurrently, in a transaction. */
const needsNoTransaction = '25001';

/** Applies one migration and records it: both or neither, unless the file does without a transaction. */
export async function applyMigration(client: pg.Client, file: MigrationFile, options: TableLockOptions = {}) {
  await resetSession(client);
  // Some statements, such as create index concurrently, cannot run in a transaction: their file says so.
  if (/^-- no transaction$/m.test(file.sql)) await applyStatements(client, file);
  else await applyInTransaction(client, file, options);
}

async function applyInTransaction(client: pg.Client, file: MigrationFile, options: TableLockOptions) {
  const { lockTimeoutMs = defaults.lockTimeoutMs, tries = defaults.tries, pauseMs = defaults.pauseMs } = options;
  for (let tried = 1; ; tried++) {
    try {
      await client.query('begin');
      await client.query(`set local lock_timeout = ${lockTimeoutMs}`);
      await client.query(file.sql);
      await record(client, file);
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback').catch(() => {});
      const { code } = error as { code?: string };
      const isLocked = code === lockNotAvailable || code === deadlock;
      if (isLocked && tried < tries) {
        await delay(pauseMs);
        continue;
      }
      throw failure(file, error, isLocked ? busyTables : code === needsNoTransaction ? transactionHint : '');
    }
  }
}

const busyTables =
  '. Other transactions keep tables of it locked; nothing of it was applied: end them, or try again when there are fewer';

const transactionHint = '. Begin the file with the line -- no transaction';

/** Runs the statements of a file one by one: PostgreSQL makes a transaction of several that are sent together. */
async function applyStatements(client: pg.Client, file: MigrationFile) {
  const statements = file.sql.split(/^-- next statement$/m);
  for (const [index, sql] of statements.entries()) {
    try {
      await client.query(sql);
    } catch (error) {
      const isJoined = (error as { code?: string }).code === needsNoTransaction;
      const hint = isJoined ? '. Part its statements by the line -- next statement' : '';
      throw failure(file, error, `${hint}. ${leftBehind(index + 1, statements.length)}`);
    }
  }
  await record(client, file);
}

function leftBehind(failed: number, count: number): string {
  return `It runs without a transaction and failed at statement ${failed} of ${count}: what was done before, and what a failed one leaves such as an invalid index, is still there. It runs from its beginning when you migrate again: undo by hand what must not be there then`;
}

async function record(client: pg.Client, { stream, name, checksum }: MigrationFile) {
  // The file may have set another one, as a dump does.
  await client.query('reset search_path');
  await client.query('insert into schema_migrations (stream, name, checksum) values ($1, $2, $3)', [
    stream,
    name,
    checksum,
  ]);
}

function failure({ stream, name }: MigrationFile, error: unknown, hint: string): MigrationError {
  return new MigrationError(`Migration ${stream}/${name} failed: ${(error as Error).message}${hint}`, { cause: error });
}
