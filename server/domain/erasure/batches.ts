import { type Expression, type ExpressionBuilder, expressionBuilder, type SqlBool, sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, type Query, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { primaryKeyOf } from '../../database/tables.ts';

/** The number of rows removed or changed, by table. */
export type RowCounts = Record<string, number>;

/** A change of some rows of a table. It returns a row for each, and is repeated until it changes none. */
export interface BatchedChange<Values> {
  table: keyof Tables;
  statement: Query<Values, unknown>;
}

/** The arguments of every batch. Erasures work account by account. */
export interface Batch {
  accountId: number;
  /** Rows of a batch, which is a transaction of its own: its locks are held for milliseconds. */
  batchSize: number;
}

type Condition<Table extends keyof Tables, Values> = (
  row: ExpressionBuilder<Tables, Table>,
  $: Arguments<Values>,
) => Expression<SqlBool>;

/** The best plan depends on the size of the batch and on the number of ids. */
const options = { isPrepared: false };

/** Removes the rows of an account that meet a condition; all of them without one. */
export function batchedRemoval<Table extends keyof Tables, Values extends Batch>(
  name: string,
  table: Table,
  condition?: Condition<Table, Values>,
): BatchedChange<Values> {
  const remove = query(
    name,
    (db, $: Arguments<Values>) =>
      db
        .deleteFrom<keyof Tables>(table)
        .where(isInBatch(table, $, condition?.(expressionBuilder<Tables, Table>(), $)))
        .returning(sql.lit(1).as('removed')),
    options,
  );
  return { table, statement: remove };
}

/** These have no account_id. Their condition finds them through tokens of the account. */
const tablesOfTokens: readonly (keyof Tables)[] = ['rate_limits'];

/**
 * Selects a batch of the rows that meet a condition, and names them by their primary key within the account. PostgreSQL
 * always looks up an array of ids through the index. A key of several columns has no such form. There the condition stays
 * inside: repeated outside, it makes PostgreSQL read every row that meets it again for each batch.
 */
export function isInBatch(table: keyof Tables, $: Arguments<Batch>, condition?: Expression<SqlBool>) {
  const ofAccount = tablesOfTokens.includes(table) ? [] : [sql`account_id = ${$.accountId}`];
  const conditions = condition ? [...ofAccount, condition] : ofAccount;
  const key = primaryKeyOf(table)
    .filter(column => column !== 'account_id')
    .map(column => sql.ref(column));
  const columns = sql.join(key);
  const batch = sql`
    select ${columns} from ${sql.table(table)} where ${sql.join(conditions, sql` and `)} limit ${$.batchSize}`;
  const isNamed = key.length === 1 ? sql`${columns} = any (array(${batch}))` : sql`(${columns}) in (${batch})`;
  return sql<boolean>`${sql.join([...ofAccount, isNamed], sql` and `)}`;
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

/** An account or user that is erased. */
export interface ErasureResult {
  id: number;
  /** Whether an earlier run began it. Then the counts contain only the rows that were left. */
  isResumed: boolean;
  counts: RowCounts;
}

/** Erases a user from tables of its own, such as those of an extension. */
export interface UserEraser {
  readonly name: string;
  /** Called in the last transaction of a user's erasure, while the user's row is still there. It may run again. */
  eraseUser?(transaction: Queryable, userId: number): Promise<void>;
}
