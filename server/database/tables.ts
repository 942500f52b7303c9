import { UnderscoreNamingStrategy } from '@mikro-orm/core';
import type { InferKyselyDB } from '@mikro-orm/postgresql';
import type { ColumnType } from 'kysely';
import { entities } from '../entities/entities.ts';

type EntityTables = InferKyselyDB<(typeof entities)[number]>;

/**
 * The type of a column's value in a row. The driver returns times as text (see columnTypes). Arguments may be a Date or
 * text.
 */
type Read<T> = T extends Date ? string : T extends Uint8Array ? Buffer : T;
type Written<T> = T extends Date ? Date | string : T;

type Column<C> =
  C extends ColumnType<infer Select, infer Insert, infer Update>
    ? ColumnType<Read<Select>, Written<Insert>, Written<Update>>
    : ColumnType<Read<C>, Written<C>, Written<C>>;

/** All tables, with the types of their columns from the entities. */
export type Tables = {
  [Table in keyof EntityTables]: { [Name in keyof EntityTables[Table]]: Column<EntityTables[Table][Name]> };
};

const naming = new UnderscoreNamingStrategy();

const primaryKeys = new Map<string, string[]>(
  entities.map(({ meta }) => {
    const key = Object.entries(meta.properties).filter(([, property]) => property.primary);
    return [meta.tableName, key.map(([name]) => naming.propertyToColumnName(name))];
  }),
);

export function primaryKeyOf(table: keyof Tables): readonly string[] {
  const key = primaryKeys.get(table);
  if (!key) throw new Error(`No entity describes ${table}`);
  return key;
}
