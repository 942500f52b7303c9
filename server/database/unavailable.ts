const lockNotAvailable = '55P03';

/**
 * The error codes of PostgreSQL and of the network for an unavailable database. The value of each code is the reason
 * that error messages show, or undefined.
 */
const codes: Readonly<Record<string, string | undefined>> = {
  ECONNREFUSED: 'nothing accepts connections there',
  ECONNRESET: 'the server closed the connection',
  ECONNABORTED: undefined,
  EPIPE: undefined,
  ENOTFOUND: 'the host name is unknown',
  EAI_AGAIN: 'the host name cannot be resolved now',
  EAI_FAIL: undefined,
  ETIMEDOUT: 'the host does not answer',
  EHOSTUNREACH: 'there is no route to the host',
  EHOSTDOWN: undefined,
  ENETUNREACH: 'there is no route to the network',
  ENETDOWN: undefined,
  EADDRNOTAVAIL: undefined,
  '25P03': undefined, // the session was idle in a transaction for too long
  '25P04': undefined, // the transaction took too long
  '28000': 'the user may not connect from here (pg_hba.conf)',
  '28P01': 'the password is wrong',
  '3D000': 'the database does not exist',
  '55P03': undefined, // the wait for a lock timed out
  '57014': undefined, // the statement timed out
  '57P01': undefined, // an administrator shut PostgreSQL down
  '57P02': undefined, // PostgreSQL shuts down after a crash
  '57P03': 'the server is starting up or shutting down',
  '57P04': undefined, // the database was dropped
  '57P05': undefined, // the session was idle for too long
};

/**
 * The classes (first two characters) of PostgreSQL's error codes for a broken connection, an exhausted resource such as
 * connections, and a failed machine.
 */
const classes = ['08', '53', '58'];

/**
 * Errors with these codes mean an unavailable database only if they come from PostgreSQL's Unix socket. A missing or
 * unreadable file causes the same codes.
 */
const socketCodes = new Set(['ENOENT', 'EACCES', 'EAGAIN']);

/** The messages of errors that come from pg itself and have no code. */
const messages = [
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Client has encountered a connection error',
  'Cannot use a pool after calling end',
  'Client was closed and is not queryable',
  'There was an error establishing an SSL connection',
];

/** Whether an error means that the database is unavailable or too slow. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (const cause of causesOf(error)) {
    const { code, syscall } = cause as { code?: unknown; syscall?: unknown };
    if (typeof code === 'string') {
      if (Object.hasOwn(codes, code) || classes.some(start => code.startsWith(start) && code.length === 5)) return true;
      if (syscall === 'connect' && socketCodes.has(code)) return true;
    }
    if (messages.some(message => cause.message.includes(message))) return true;
  }
  return isReadOnly(error);
}

/** Whether a lock timed out. The database is available, so a retry may soon succeed. */
export function isLockNotFree(error: unknown): boolean {
  return causesOf(error).some(cause => (cause as { code?: unknown }).code === lockNotAvailable);
}

/**
 * Whether PostgreSQL refuses writes because it is a standby, such as the former primary after a failover. Rate limits
 * cannot even be read on a standby, because their table is unlogged.
 */
export function isReadOnly(error: unknown): boolean {
  return causesOf(error).some(
    cause =>
      (cause as { code?: unknown }).code === '25006' ||
      cause.message.includes('cannot access temporary or unlogged relations during recovery'),
  );
}

/**
 * Lists the error and its causes. If a host name has several IP addresses, each may fail with its own error. Then lists
 * only the first of these errors.
 */
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

/** Returns a description of the database for log and error messages, without the password. */
export function describeDatabase(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url);
  const host = decodeURIComponent(hostname) || searchParams.get('host') || 'localhost';
  return `${decodeURIComponent(pathname.slice(1)) || 'the default database'} at ${host}:${port || '5432'}`;
}

const reasons: Readonly<Record<string, string | undefined>> = {
  ...codes,
  ENOENT: 'there is no such socket',
  EACCES: 'this user may not open the socket',
  '42501': 'the user may not use the database',
  '53300': 'all its connections are taken',
};

/** PostgreSQL's code for a statement that was cancelled, for example by a timeout. */
export const statementTimeout = '57014';

/** Returns a reason if the error means that the database cannot be reached. Returns undefined for other errors. */
export function explainUnreachable(error: unknown): string | undefined {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const { code, message, syscall } = first as { code?: string; message: string; syscall?: string };
  // PostgreSQL has cancelled the statement or the wait for a lock, so PostgreSQL can be reached.
  if (code === statementTimeout || code === lockNotAvailable) return undefined;
  // The error comes from an ordinary file and not from PostgreSQL's socket, so it says nothing about the database.
  if ((code === 'ENOENT' || code === 'EACCES') && syscall !== 'connect') return undefined;
  const reason = code === undefined ? undefined : reasons[code];
  // Adds PostgreSQL's own message, because it also names the user or the database. Writes this message on one line.
  if (reason !== undefined) return code?.startsWith('E') ? reason : `${reason}: ${message.replace(/\s+/g, ' ')}`;
  // The first message is from a client of pg, and the second from a pool of pg.
  if (message === 'timeout expired' || message.endsWith('connection timeout')) return reasons.ETIMEDOUT;
  if (message.includes('SASL') || message.includes('SSL')) return message;
  return isDatabaseUnavailable(first) ? message : undefined;
}
