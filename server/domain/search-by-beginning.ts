import { type Expression, expressionBuilder } from 'kysely';

/**
 * Whether a stored text can begin with the search text. PostgreSQL rejects NUL characters and lone surrogates, so no
 * stored text contains them.
 */
export function mayBegin(beginning: string): boolean {
  return !beginning.includes('\0') && beginning.isWellFormed();
}

/**
 * The condition that a text begins with the given characters, ignoring case. `lowerText` must be the text in lower
 * case. An index of `lowerText` needs the operator class text_pattern_ops.
 */
export function beginsWith(lowerText: Expression<string>, beginning: string) {
  const eb = expressionBuilder();
  // Lets PostgreSQL convert the search text to lower case, because JavaScript has different rules for lower case.
  const pattern = eb.fn<string>('lower', [eb.val(`${beginning.replace(/[\\%_]/g, '\\$&')}%`)]);
  return eb(lowerText, 'like', pattern);
}
