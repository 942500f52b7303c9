import { type Expression, sql } from 'kysely';

/** Pages count so far, and say that there are more: a larger number tells nobody more, and would cost a scan. */
export const countLimit = 1000;

/** Counts all rows of a query. */
export function countAll(rows: Expression<unknown>) {
  return sql<number>`(select count(*) from ${rows} counted)`;
}

/** Counts the rows of a query, and stops at a limit: by default at one more than countLimit. */
export function countOf(rows: Expression<unknown>, limit = countLimit + 1) {
  return sql<number>`(select count(*) from (select from ${rows} one limit ${limit}) counted)`;
}
