import { defineQuery, type Query } from './query.ts';

/** A query in SQL whose arguments are an array, and whose rows nothing checks: use query() or sql() instead. */
export type Statement<Row> = Query<readonly unknown[], Row>;

/** Defines a prepared statement. The name is unique in the program. */
export function statement<Row>(name: string, text: string): Statement<Row> {
  return define(name, true, text);
}

let planned = 0;

/** Defines a statement whose best plan depends on its values. */
export function plannedStatement<Row>(text: string): Statement<Row> {
  return define(`planned_${++planned}`, false, text);
}

function define<Row>(name: string, isPrepared: boolean, text: string): Statement<Row> {
  const count = Math.max(0, ...[...text.matchAll(/\$(\d+)/g)].map(([, digits]) => Number(digits)));
  return defineQuery(name, isPrepared, () => ({ text, argumentNames: [...Array(count).keys()].map(String) }));
}
