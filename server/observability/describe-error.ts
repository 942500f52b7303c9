/** The logged properties of an error. Other properties may hold the client and the values of pg. */
const kept =
  'code severity constraint schema table column dataType routine errno syscall address port hostname command responseCode status statusCode key reason'.split(
    ' ',
  );

/** Longer messages leave no room for the frames in the stack. */
const maxRepeatedLength = 1_000;

/**
 * Returns an error as plain properties: its type, message and stack, the kept properties, and its causes. Omits the detail,
 * the hint, the position and the statement of a PostgreSQL error, because they contain values of rows.
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
    // The original stack repeats the message, unredacted.
    stack: `${error.name}: ${message.length > maxRepeatedLength ? '[…]' : message}${frames}`,
    ...(error.cause === undefined ? {} : { cause: error.cause }),
    ...(error instanceof AggregateError ? { errors: error.errors } : {}),
  };
}

/**
 * Removes values from a message. Data exceptions of PostgreSQL (class 22) quote the invalid value. The ORM appends the
 * detail to a message about a constraint, which may be a whole row.
 */
function messageOf(error: Error): string {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  const [message = ''] = String(error.message).split('\n - detail: ', 1);
  const isDataException = typeof severity === 'string' && String(code).startsWith('22');
  return isDataException ? message.replace(/"[\s\S]*"/, '"[Redacted]"') : message;
}
