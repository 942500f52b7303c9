import { type Expression, sql } from 'kysely';

/** The maximum exact count. Larger counts are shown as "more than 1,000", because an exact count reads all rows. */
export const countLimit = 1000;

export function countAll(rows: Expression<unknown>) {
  return sql<number>`(select count(*) from ${rows} counted)`;
}

/** Counts rows up to a limit. The default limit, countLimit + 1, shows whether the count exceeds countLimit. */
export function countBounded(rows: Expression<unknown>, limit = countLimit + 1) {
  return sql<number>`(select count(*) from (select from ${rows} one limit ${limit}) counted)`;
}
