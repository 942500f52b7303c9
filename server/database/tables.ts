import type { InferKyselyDB } from '@mikro-orm/postgresql';
import type { ColumnType } from 'kysely';
import type { entities } from '../entities/entities.ts';

type EntityTables = InferKyselyDB<(typeof entities)[number]>;

/** The driver returns times as text (see columnTypes), and takes a Date or text. */
type Read<T> = T extends Date ? string : T extends Uint8Array ? Buffer : T;
type Written<T> = T extends Date ? Date | string : T;

type Column<C> =
  C extends ColumnType<infer Select, infer Insert, infer Update>
    ? ColumnType<Read<Select>, Written<Insert>, Written<Update>>
    : ColumnType<Read<C>, Written<C>, Written<C>>;

/** Every table with the types of its columns, as the entities describe them. */
export type Tables = {
  [Table in keyof EntityTables]: { [Name in keyof EntityTables[Table]]: Column<EntityTables[Table][Name]> };
};
