import pg from 'pg';
import { configOf, type Query } from './query.ts';

const bigintOid = 20;

/** Ids are numbers here. Times stay text: the entity manager converts its own, and a reader passes them on. */
export const columnTypes = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    if (oid === bigintOid) return Number;
    if (oid === pg.types.builtins.TIMESTAMPTZ) return (value: string) => value;
    return pg.types.getTypeParser(oid, format as 'text');
  },
} as pg.CustomTypesConfig;

/** Runs a query on a connection, or a pool, that is not the one of the requests. */
export async function runOn<Values, Row>(
  connection: pg.ClientBase | pg.Pool,
  query: Query<Values, Row>,
  values: NoInfer<Values>,
): Promise<Row[]> {
  const config: pg.QueryConfig = { ...configOf(query, values), types: columnTypes };
  return (await (connection as pg.ClientBase).query(config)).rows;
}
