import { defineEntity, p } from '@mikro-orm/core';

export function defineTable<
  const Name extends string,
  const Table extends string,
  const Properties extends Record<string, unknown>,
>(name: Name, tableName: Table, properties: Properties) {
  return defineEntity({ name, tableName, properties });
}

/**
 * A 64-bit column whose values are JavaScript numbers. JavaScript numbers are exact up to 2^53, and ids from a sequence
 * stay below this number.
 */
export const bigint = () => p.bigint('number');

/** A time with a precision of one millisecond, like the Date of JavaScript. */
export const timestamp = () => p.datetime().length(3);

/** A time whose default value is the time when the row is created. */
export const creationTime = () =>
  timestamp()
    .defaultRaw('now()')
    .onCreate(() => new Date());

/**
 * The primary key of a table with rows of an account. In the database the key is (account_id, id). Here the id comes
 * first. Otherwise MikroORM 7.2 loses the account of a new row if PostgreSQL generates a key column that is not the
 * first.
 */
export const accountKey = {
  id: bigint().primary().autoincrement(),
  accountId: bigint().primary(),
};
