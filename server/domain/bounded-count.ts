import { type Expression, sql } from 'kysely';

/** Pages show larger counts as "more than 1,000", because an exact count would need a scan. */
export const countLimit = 1000;

/** Counts all rows of a query. */
export function countAll(rows: Expression<unknown>) {
  return sql<number>`(select count(*) from ${rows} counted)`;
}

/** Counts the rows of a query up to a limit. The default is one more than countLimit. */
export function countBounded(rows: Expression<unknown>, limit = countLimit + 1) {
  return sql<number>`(select count(*) from (select from ${rows} one limit ${limit}) counted)`;
}
