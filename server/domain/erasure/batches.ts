import type { Queryable } from '../../database/database.ts';
import { plannedStatement, type Statement } from '../../database/statement.ts';

/** How many rows each table lost, or had changed. */
export type RowCounts = Record<string, number>;

/** A change of the rows of a table that meet a condition, a number of them at a time. */
export interface BatchedChange {
  table: string;
  statement: Statement<{ count: number }>;
}

/**
 * Removes the rows that meet a condition on $1. A batch names its rows by where they lie: no index of the table's own
 * is needed, and one that another transaction moves meanwhile is left to the next batch.
 */
export function batchedRemoval(table: string, condition: string): BatchedChange {
  return {
    table,
    statement: plannedStatement(`
      with changed as (
        delete from ${table} where ctid = any (array(select ctid from ${table} where ${condition} limit $2))
        returning 1
      )
      select count(*)::int as count from changed`),
  };
}

/** The same, for a change after which a row does not meet the condition any more. */
export function batchedUpdate(table: string, change: string, condition: string): BatchedChange {
  return {
    table,
    statement: plannedStatement(`
      with changed as (
        update ${table} set ${change} where ctid = any (array(select ctid from ${table} where ${condition} limit $2))
        returning 1
      )
      select count(*)::int as count from changed`),
  };
}

export interface BatchOptions {
  /** Rows of a batch, which is a transaction of its own: its locks are held for milliseconds. */
  batchSize: number;
  /** Where the rows are counted, by their tables. */
  counts: RowCounts;
}

/**
 * Makes a change batch by batch until no row meets the condition. What is left after a kill still meets it, so the
 * next run goes on where this one ended.
 */
export async function runBatches(
  database: Queryable,
  { table, statement }: BatchedChange,
  values: [unknown, ...unknown[]],
  { batchSize, counts }: BatchOptions,
): Promise<void> {
  const [subject, ...rest] = values;
  for (;;) {
    const [changed] = await database.query(statement, [subject, batchSize, ...rest]);
    const count = changed?.count ?? 0;
    addCount(counts, table, count);
    if (count === 0) return;
  }
}

export function addCount(counts: RowCounts, table: string, count: number) {
  if (count > 0) counts[table] = (counts[table] ?? 0) + count;
}
