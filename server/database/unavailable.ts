/** PostgreSQL's code for a lock that was not free in time. */
const lockNotAvailable = '55P03';

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
  return causesOf(error).some(cause => (cause as { code?: unknown }).code === lockNotAvailable);
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

/** A database without its password, for a message. */
export function describeDatabase(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = decodeURIComponent(hostname) || searchParams.get('host') || 'localhost';
  return `${decodeURIComponent(pathname.slice(1)) || 'the default database'} at ${host}:${port || '5432'}`;
}

const reasons: Record<string, string> = {
  ECONNREFUSED: 'nothing accepts connections there',
  ENOENT: 'there is no such socket',
  EACCES: 'this user may not open the socket',
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be resolved now',
  ETIMEDOUT: 'the host does not answer',
  EHOSTUNREACH: 'there is no route to the host',
  ENETUNREACH: 'there is no route to the network',
  ECONNRESET: 'the server closed the connection',
  '28P01': 'the password is wrong',
  '28000': 'the user may not connect from here (pg_hba.conf)',
  '3D000': 'the database does not exist',
  '42501': 'the user may not use the database',
  '53300': 'all its connections are taken',
  '57P03': 'the server is starting up or shutting down',
};

/** PostgreSQL's code for a statement that it cancelled. */
export const statementTimeout = '57014';

/** Why a database cannot be connected to, or undefined for an error that says something else. */
export function explainUnreachable(error: unknown): string | undefined {
  // A name with several addresses fails with one error for each.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const { code, message, syscall } = first as { code?: string; message: string; syscall?: string };
  // A statement that took too long, or waited too long, was cancelled by a database that could be reached.
  if (code === statementTimeout || code === lockNotAvailable) return undefined;
  // A file can be missing or closed to us, too.
  if ((code === 'ENOENT' || code === 'EACCES') && syscall !== 'connect') return undefined;
  const reason = code === undefined ? undefined : reasons[code];
  // What PostgreSQL itself says names the user or the database, and may be more than one line.
  if (reason !== undefined) return code?.startsWith('E') ? reason : `${reason}: ${message.replace(/\s+/g, ' ')}`;
  // A client says the one, a pool the other.
  if (message === 'timeout expired' || message.endsWith('connection timeout')) return reasons.ETIMEDOUT;
  if (message.includes('SASL') || message.includes('SSL')) return message;
  return isDatabaseUnavailable(first) ? message : undefined;
}
