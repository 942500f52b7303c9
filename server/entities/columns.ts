import { p } from '@mikro-orm/core';

/** Ids are 64-bit in the database and numbers here: a sequence stays below 2^53. */
export const bigint = () => p.bigint('number');

/** A time to the millisecond, as a JavaScript Date holds it. */
export const timestamp = () => p.datetime().length(3);

/** The time at which a row is made, unless it is given another one. */
export const creationTime = () =>
  timestamp()
    .defaultRaw('now()')
    .onCreate(() => new Date());

/**
 * The key of a row of an account. The table's key is (account_id, id). Here the id comes first: MikroORM 7.2 loses the
 * account of a new row when PostgreSQL completes another column than the first one of the key.
 */
export const accountKey = {
  id: bigint().primary().autoincrement(),
  accountId: bigint().primary(),
};
