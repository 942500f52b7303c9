import { UnderscoreNamingStrategy } from '@mikro-orm/core';
import { entities } from '../entities/entities.ts';
import type { Tables } from './tables.ts';

const naming = new UnderscoreNamingStrategy();

const primaryKeys = new Map<string, string[]>(
  entities.map(({ meta }) => {
    const key = Object.entries(meta.properties).filter(([, property]) => property.primary);
    return [meta.tableName, key.map(([name]) => naming.propertyToColumnName(name))];
  }),
);

/** The columns of a table's primary key, as its entity has them. */
export function primaryKeyOf(table: keyof Tables): readonly string[] {
  const key = primaryKeys.get(table);
  if (!key) throw new Error(`No entity describes ${table}`);
  return key;
}
