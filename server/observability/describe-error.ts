/** What a log says of an error: nothing but these of its properties, for pg hangs its client and its values on some. */
const kept = [
  'code',
  'severity',
  'constraint',
  'schema',
  'table',
  'column',
  'dataType',
  'routine',
  'errno',
  'syscall',
  'address',
  'port',
  'hostname',
  'command',
  'responseCode',
  'status',
  'statusCode',
  'key',
  'reason',
] as const;

/**
 * An error as plain properties: its type, its message, its stack, what kept names, and the errors that it was made of.
 * Of an error of PostgreSQL the detail, the hint, the place and the statement are left out, which hold values of rows.
 */
export function describeError(error: Error): Record<string, unknown> {
  const message = messageOf(error);
  const properties = error as unknown as Record<string, unknown>;
  return {
    type: String(error.name),
    message,
    ...Object.fromEntries(kept.filter(name => isPlain(properties[name])).map(name => [name, properties[name]])),
    stack: stackOf(error, message),
    ...(error.cause === undefined ? {} : { cause: error.cause }),
    ...(error instanceof AggregateError ? { errors: error.errors } : {}),
  };
}

/**
 * Data exceptions of PostgreSQL (class 22) quote the value that was refused, whatever it was. And to a message about a
 * constraint the ORM appends its detail, which may be a whole row.
 */
function messageOf(error: Error): string {
  const { code, severity } = error as { code?: unknown; severity?: unknown };
  const [message = ''] = String(error.message).split('\n - detail: ', 1);
  const isDataException = typeof severity === 'string' && typeof code === 'string' && code.startsWith('22');
  return isDataException ? message.replace(/"[\s\S]*"/, '"[Redacted]"') : message;
}

const maxRepeatedLength = 1_000;

/** The stack begins with the message as it was when the error was made: it is written anew, over the frames. */
function stackOf(error: Error, message: string): string | undefined {
  const { stack } = error;
  if (typeof stack !== 'string') return undefined;
  const start = stack.indexOf(error.message);
  const rest = start < 0 ? stack : stack.slice(start + error.message.length);
  const frames = rest.search(/\n[ \t]+at /);
  // The message has a field of its own. A long one would leave no room for the frames.
  const told = message.length > maxRepeatedLength ? '[…]' : message;
  return `${error.name}: ${told}${frames < 0 ? '' : rest.slice(frames)}`;
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
}
