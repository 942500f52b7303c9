import {
  type Compilable,
  type Expression,
  type ExpressionBuilder,
  expressionBuilder,
  type Kysely,
  type SqlBool,
  sql,
} from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, type Query, query } from '../../database/query.ts';
import { primaryKeyOf, type Tables } from '../../database/tables.ts';

/** The number of removed or changed rows of each table. */
export type RowCounts = Record<string, number>;

/**
 * A change that runs in batches. The statement changes one batch and returns one row for each changed row. Callers
 * repeat the statement until it changes no row.
 */
export interface BatchedChange<Values> {
  table: keyof Tables;
  statement: Query<Values, unknown>;
}

/** The arguments of every batched change. An erasure processes one account after the other. */
export interface Batch {
  accountId: number;
  /**
   * The maximum number of rows in one batch. Each batch is a short transaction, so that other requests do not wait long
   * for its locks.
   */
  batchSize: number;
}

type Condition<Table extends keyof Tables, Values> = (
  row: ExpressionBuilder<Tables, Table>,
  $: Arguments<Values>,
) => Expression<SqlBool>;

/** Defines the removal of all rows of an account in a table, or only of the rows that meet a condition. */
export function batchedRemoval<Table extends keyof Tables, Values extends Batch>(
  name: string,
  table: Table,
  condition?: Condition<Table, Values>,
): BatchedChange<Values> {
  return batchedChange(name, table, (db, $: Arguments<Values>) =>
    db
      .deleteFrom<keyof Tables>(table)
      .where(isInBatch(table, $, condition?.(expressionBuilder<Tables, Table>(), $)))
      .returning(sql.lit(1).as('removed')),
  );
}

/**
 * Defines a change that runs in batches. The statement must contain isInBatch, which limits the statement to one batch.
 */
export function batchedChange<Values extends Batch>(
  name: string,
  table: keyof Tables,
  build: (db: Kysely<Tables>, $: Arguments<Values>) => Compilable<unknown>,
): BatchedChange<Values> {
  // This query is not prepared, because the best query plan depends on the number of rows to change.
  return { table, statement: query(name, build, { isPrepared: false }) };
}

/**
 * The SQL condition that a row belongs to the next batch. A subquery finds the primary keys of the batch. If the key
 * has one column besides account_id, the keys become an array. PostgreSQL always looks up such an array through the
 * index.
 *
 * Only the subquery contains the condition. If the statement around the subquery repeated the condition, PostgreSQL
 * would read all matching rows again for each batch.
 */
export function isInBatch(table: keyof Tables, $: Arguments<Batch>, condition?: Expression<SqlBool>) {
  const primaryKey = primaryKeyOf(table);
  // If the primary key does not contain account_id, `condition` must itself select the rows of the account, for example
  // by the tokens of the account.
  const ofAccount = primaryKey.includes('account_id') ? [sql`account_id = ${$.accountId}`] : [];
  const columns = sql.join(primaryKey.filter(column => column !== 'account_id').map(column => sql.ref(column)));
  const batch = sql`
    select ${columns} from ${sql.table(table)}
    where ${sql.join(condition ? [...ofAccount, condition] : ofAccount, sql` and `)}
    limit ${$.batchSize}`;
  const isSingle = primaryKey.length - ofAccount.length === 1;
  const isNamed = isSingle ? sql`${columns} = any (array(${batch}))` : sql`(${columns}) in (${batch})`;
  return sql<boolean>`${sql.join([...ofAccount, isNamed], sql` and `)}`;
}

/**
 * The condition that a row belongs to one of the given tokens. PostgreSQL always looks up an array of ids through the
 * index.
 */
export function isOfTokens(tokens: Expression<{ id: number }>) {
  return sql<boolean>`token_id = any (array(${tokens}))`;
}

/**
 * Repeats a change batch by batch until no row meets its condition. If the process is killed, the remaining rows still
 * meet the condition, and the next run continues with them.
 */
export async function runBatches<Values extends Batch>(
  database: Queryable,
  { table, statement }: BatchedChange<Values>,
  values: NoInfer<Values>,
  counts: RowCounts,
): Promise<void> {
  for (;;) {
    const changed = await database.query(statement, values);
    addCount(counts, table, changed.length);
    if (changed.length === 0) return;
  }
}

export function addCount(counts: RowCounts, table: string, count: number) {
  if (count > 0) counts[table] = (counts[table] ?? 0) + count;
}

/** The options for the erasure of an account or a user. */
export interface ErasureOptions {
  now: Date;
  /** The deletion is due if it was requested at this time or earlier. */
  dueBefore: Date;
  /** The approximate maximum number of rows that one transaction changes. */
  batchSize: number;
  /**
   * Records the erasure in the last transaction of the erasure, so that the record and the erasure are committed
   * together.
   */
  record(transaction: Queryable, erased: ErasureResult): Promise<void>;
}

/** The result of the erasure of an account or user. */
export interface ErasureResult {
  id: number;
  /**
   * Whether an earlier run began this erasure. If so, the counts contain only the rows that the earlier run had left.
   */
  isResumed: boolean;
  counts: RowCounts;
}

/** An extension that can remove a user's data from the tables of the extension. */
export interface UserEraser {
  readonly name: string;
  /**
   * Erases the user's data. The server calls this method in the first transaction of the erasure, when the user still
   * has the e-mail address, and again in the last transaction, before it deletes the row of the user.
   */
  eraseUser?(transaction: Queryable, userId: number): Promise<void>;
}
