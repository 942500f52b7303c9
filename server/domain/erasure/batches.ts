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

/** The number of removed or changed rows, by table. */
export type RowCounts = Record<string, number>;

/** A change of some rows of a table. It returns a row for each, and is repeated until it changes none. */
export interface BatchedChange<Values> {
  table: keyof Tables;
  statement: Query<Values, unknown>;
}

/** The arguments of every batch. Erasures work account by account. */
export interface Batch {
  accountId: number;
  /** The rows of a batch. Each batch is a transaction, so its locks are held for milliseconds. */
  batchSize: number;
}

/** Selects the rows of a table that a batched change applies to. */
type Condition<Table extends keyof Tables, Values> = (
  row: ExpressionBuilder<Tables, Table>,
  $: Arguments<Values>,
) => Expression<SqlBool>;

/** Removes the rows of an account that meet a condition. Without a condition it removes all of them. */
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

/** Defines a change of the rows that isInBatch selects. */
export function batchedChange<Values extends Batch>(
  name: string,
  table: keyof Tables,
  build: (db: Kysely<Tables>, $: Arguments<Values>) => Compilable<unknown>,
): BatchedChange<Values> {
  // The best plan depends on the number of rows that meet the condition.
  return { table, statement: query(name, build, { isPrepared: false }) };
}

/**
 * Selects a batch of the rows that meet a condition, and names them by their primary key within the account. PostgreSQL
 * always looks up an array of ids through the index. A key of several columns has no such form. There the condition stays
 * inside: repeated outside, it makes PostgreSQL read every row that meets it again for each batch.
 */
export function isInBatch(table: keyof Tables, $: Arguments<Batch>, condition?: Expression<SqlBool>) {
  const primaryKey = primaryKeyOf(table);
  // The condition for another table leads to the account, for example through its tokens.
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

/** Finds the rows of some tokens. PostgreSQL always looks up an array of ids through the index. */
export function isOfTokens(tokens: Expression<{ id: number }>) {
  return sql<boolean>`token_id = any (array(${tokens}))`;
}

/**
 * Repeats a change batch by batch until no row meets its condition. If the process is killed, the rows that are left
 * still meet the condition, and the next run continues with them.
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

/** The options of the erasure of one account or user. */
export interface ErasureOptions {
  now: Date;
  /** A deletion that was requested at this time or before is due. */
  dueBefore: Date;
  /** About the largest number of rows that one transaction changes. */
  batchSize: number;
  /** Called in the last transaction of each erasure, so its writes commit with it or not at all. */
  record(transaction: Queryable, erased: ErasureResult): Promise<void>;
}

/** The result of the erasure of an account or user. */
export interface ErasureResult {
  id: number;
  /** Whether an earlier run began the erasure. Then the counts contain only the rows that were left. */
  isResumed: boolean;
  counts: RowCounts;
}

/** An extension that erases a user from its own tables. */
export interface UserEraser {
  readonly name: string;
  /** Called in the last transaction of a user's erasure, while the user's row is still there. It may run again. */
  eraseUser?(transaction: Queryable, userId: number): Promise<void>;
}
