import { type Expression, sql } from 'kysely';

/**
 * The maximum count that pages show. Larger counts are shown as "more than 1,000", because an exact count would need a
 * scan.
 */
export const countLimit = 1000;

/** Counts all rows of a query. */
export function countAll(rows: Expression<unknown>) {
  return sql<number>`(select count(*) from ${rows} counted)`;
}

/**
 * Counts the rows of a query up to a limit. The default limit is countLimit + 1, so that the caller knows whether the
 * count exceeds countLimit.
 */
export function countBounded(rows: Expression<unknown>, limit = countLimit + 1) {
  return sql<number>`(select count(*) from (select from ${rows} one limit ${limit}) counted)`;
}
