/** Codes with which PostgreSQL or the network says that no answer can be had now. */
const codes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ECONNABORTED',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EAI_FAIL',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'EADDRNOTAVAIL',
  '25P03', // idle in transaction for too long
  '25P04', // the transaction took too long
  '28000', // this user may not connect
  '28P01', // wrong password
  '3D000', // no such database
  '55P03', // a lock could not be had in time
  '57014', // the statement's time was over
  '57P01', // shut down by an administrator
  '57P02', // shut down by a crash
  '57P03', // starting up, or shutting down
  '57P04', // the database was dropped
  '57P05', // idle for too long
]);

/** Whole classes: the connection broke, PostgreSQL is out of something such as connections, the machine fails it. */
const classes = ['08', '53', '58'];

/** What else is in the way of a socket in the file system; of any other file they say nothing about a database. */
const socketCodes = new Set(['ENOENT', 'EACCES', 'EAGAIN']);

/** pg has no codes for what it notices itself. */
const messages = [
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Client has encountered a connection error',
  'Cannot use a pool after calling end',
  'Client was closed and is not queryable',
  'There was an error establishing an SSL connection',
];

/** Whether an error says that the database cannot be reached or used now, as opposed to a fault of ours. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (const cause of causesOf(error)) {
    const { code, syscall } = cause as { code?: unknown; syscall?: unknown };
    if (typeof code === 'string') {
      if (codes.has(code) || classes.some(start => code.startsWith(start) && code.length === 5)) return true;
      if (syscall === 'connect' && socketCodes.has(code)) return true;
    }
    if (messages.some(message => cause.message.includes(message))) return true;
  }
  return isReadOnly(error);
}

/** Whether a lock was not free in time: the database works, and the holder of the lock is soon done. */
export function isLockNotFree(error: unknown): boolean {
  return causesOf(error).some(cause => (cause as { code?: unknown }).code === '55P03');
}

/**
 * Whether PostgreSQL takes no writes: it is a standby, such as the former primary after a failover. A standby refuses
 * even to read an unlogged table, which the counters of the limits are in.
 */
export function isReadOnly(error: unknown): boolean {
  return causesOf(error).some(
    cause =>
      (cause as { code?: unknown }).code === '25006' ||
      cause.message.includes('cannot access temporary or unlogged relations during recovery'),
  );
}

/** The error and what it wraps. A name with several addresses fails with one error for each, and the first is as good. */
function causesOf(error: unknown): Error[] {
  const causes: Error[] = [];
  let cause = error;
  while (cause instanceof Error && !causes.includes(cause)) {
    causes.push(cause);
    const { previous } = cause as { previous?: unknown };
    cause = cause.cause ?? previous ?? (cause instanceof AggregateError ? cause.errors[0] : undefined);
  }
  return causes;
}
