import { activeSpan, endAfter } from '../observability/active-span.ts';
import type { Query } from './query.ts';

/**
 * Runs a statement of query() or sql() in a span below the active span. The text of such a statement has placeholders for
 * all values of users. The text of an extension's statement may contain values, so the span does not contain this text.
 */
export function traceQuery<T>(query: Query<never, unknown>, run: () => Promise<T>): Promise<T> {
  if (!activeSpan()) return run();
  return trace(query.name, query.isOfExtension ? undefined : query.text, run);
}

/**
 * Runs a statement that was built at run time in a span below the active span. The entity manager writes values into
 * such texts, so the span contains only the kind of the statement and its first table.
 */
export function traceText<T>(text: string, run: () => Promise<T>): Promise<T> {
  return activeSpan() ? trace(summaryOf(text), undefined, run) : run();
}

function trace<T>(name: string, text: string | undefined, run: () => Promise<T>): Promise<T> {
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name, 'db.query.text': text };
  const span = activeSpan()?.start(name, { kind: 'client', attributes });
  return span ? endAfter(span, run()) : run();
}

const kindForm = /^\s*\(?\s*(select|insert|update|delete|with|begin|commit|rollback|savepoint|release)\b/i;
const tableForm = /\b(?:from|into|update)\s+(?:only\s+)?(?:"?public"?\.)?"?([a-z_]{1,63})"?/i;

/** Returns the kind of a statement and its first table, such as `insert ideas`. Never reads a quoted value. */
function summaryOf(text: string): string {
  const [start = ''] = text.split("'", 1);
  const kind = kindForm.exec(start)?.[1]?.toLowerCase() ?? 'statement';
  const table = tableForm.exec(start)?.[1]?.toLowerCase();
  return table === undefined ? kind : `${kind} ${table}`;
}
