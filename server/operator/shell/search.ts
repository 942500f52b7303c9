import type { OperatorVisit } from './change.ts';

/** The maximum length of a search text: enough for every e-mail address. */
const maxLength = 254;

/** Returns the search text in the query. Undefined if there is none. */
export function searchOf(visit: OperatorVisit): string | undefined {
  return visit.parameter('q').trim().slice(0, maxLength) || undefined;
}
