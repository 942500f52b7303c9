import { defineEntity, p } from '@mikro-orm/core';

/** Defines the entity of a table by its properties. */
export function defineTable<
  const Name extends string,
  const Table extends string,
  const Properties extends Record<string, unknown>,
>(name: Name, tableName: Table, properties: Properties) {
  return defineEntity({ name, tableName, properties });
}

/** Ids are 64-bit in the database and numbers here, because a sequence stays below 2^53. */
export const bigint = () => p.bigint('number');

/** A time in milliseconds, the precision of a JavaScript Date. */
export const timestamp = () => p.datetime().length(3);

/** A time whose default is the creation of the row. */
export const creationTime = () =>
  timestamp()
    .defaultRaw('now()')
    .onCreate(() => new Date());

/**
 * The key of a row of an account. The table's key is (account_id, id). Here the id comes first: MikroORM 7.2 loses the
 * account of a new row when PostgreSQL generates any column of the key except the first.
 */
export const accountKey = {
  id: bigint().primary().autoincrement(),
  accountId: bigint().primary(),
};
