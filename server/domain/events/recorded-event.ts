import { type ExpressionBuilder, type Selectable, sql } from 'kysely';
import type { Tables } from '../../database/tables.ts';

/** The columns of an event that presentEvent takes. */
export type RecordedEvent = Pick<Selectable<Tables['events']>, 'type' | 'occurred_at' | 'data' | 'body'>;

/** Selects the columns of an event e that presentEvent takes. The body is read only where there is no data. */
export function recordedEventOf(e: ExpressionBuilder<Tables & { e: Tables['events'] }, 'e'>) {
  const body = e.case().when('e.data', 'is', null).then(e.ref('e.body')).end().as('body');
  return ['e.type', 'e.occurred_at', 'e.data', body] as const;
}

/** The data of an event e in SQL. An event of the version before has it in the body alone. */
const dataOfEvent = "coalesce(e.data, (e.body -> 'data')::jsonb)";

/** A text in the data of an event e, such as `textInEvent('idea', 'title')`. */
export function textInEvent(...path: string[]) {
  return sql<string | null>`${sql.raw(dataOfEvent)} #>> ${sql.lit(`{${path.join(',')}}`)}`;
}

/** The id of the target of an event e, which is a merge or the end of one. */
export const targetIdInEvent = sql<number | null>`(${textInEvent('target', 'id')})::bigint`;
