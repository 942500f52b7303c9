/**
 * The names of the error properties to log. Other properties may contain values of a query, or the whole client object
 * of the database.
 */
const kept =
  'code severity constraint schema table column dataType routine errno syscall address port hostname command responseCode status statusCode key reason'.split(
    ' ',
  );

/**
 * The maximum length of an error message that is repeated in the logged stack. A longer message would leave no room for
 * the stack frames.
 */
const maxRepeatedLength = 1_000;

/**
 * Returns an error as plain properties: its type, message and stack, the properties listed in `kept`, and its causes.
 * Omits the detail, the hint, the position and the statement of a PostgreSQL error, because they may contain values of
 * rows.
 */
export function describeError(error: Error): Record<string, unknown> {
  const properties = error as unknown as Record<string, unknown>;
  const isPlain = (name: string) => ['string', 'number', 'boolean'].includes(typeof properties[name]);
  const message = messageOf(error);
  const stack = String(error.stack);
  const start = stack.indexOf(error.message);
  const frames = stack.slice(start < 0 ? 0 : start + error.message.length).match(/\n[ \t]+at [\s\S]*/)?.[0] ?? '';
  return {
    type: String(error.name),
    message,
    ...Object.fromEntries(kept.filter(isPlain).map(name => [name, properties[name]])),
    // Builds a new stack, because the original stack contains the original message, which may have values of rows.
    stack: `${error.name}: ${message.length > maxRepeatedLength ? '[…]' : message}${frames}`,
    ...(error.cause === undefined ? {} : { cause: error.cause }),
    ...(error instanceof AggregateError ? { errors: error.errors } : {}),
  };
}

/**
 * Removes values of rows from an error message. PostgreSQL's data exceptions (class 22) quote the invalid value. For a
 * violated constraint, the ORM appends the detail, which may be a whole row.
 */
function messageOf(error: Error): string {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  const [message = ''] = String(error.message).split('\n - detail: ', 1);
  const isDataException = typeof severity === 'string' && String(code).startsWith('22');
  return isDataException ? message.replace(/"[\s\S]*"/, '"[Redacted]"') : message;
}
