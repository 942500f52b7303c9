import { type Expression, expressionBuilder } from 'kysely';

/** Whether a stored text may begin with this text. PostgreSQL rejects NUL characters and lone surrogates in a query. */
export function mayBegin(beginning: string): boolean {
  return !beginning.includes('\0') && beginning.isWellFormed();
}

/**
 * The condition that a text in lower case begins with the given characters, in upper or lower case. The index of the
 * text needs the operator class text_pattern_ops.
 */
export function beginsWith(lowerText: Expression<string>, beginning: string) {
  const eb = expressionBuilder();
  // PostgreSQL converts the search text to lower case, because JavaScript has other rules for lower case.
  const pattern = eb.fn<string>('lower', [eb.val(`${beginning.replace(/[\\%_]/g, '\\$&')}%`)]);
  return eb(lowerText, 'like', pattern);
}
