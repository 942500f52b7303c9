import { type Expression, sql } from 'kysely';

/** Pages count so far, and say that there are more: a larger number tells nobody more, and would cost a scan. */
export const countLimit = 1000;

/**
 * Counts the rows of a query, and stops at a limit: by default at one more than countLimit. An index alone answers such a
 * query if it has no filter on the account of ideas or their tags. With that filter PostgreSQL reads the rows as well: the
 * page of a board's statuses read 449 blocks instead of 41.
 */
export function countOf(rows: Expression<unknown>, limit = countLimit + 1) {
  return sql<number>`(select count(*) from (select from ${rows} one limit ${limit}) counted)`;
}
