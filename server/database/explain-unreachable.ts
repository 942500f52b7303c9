import { isDatabaseUnavailable } from './unavailable.ts';

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

const lockTimeout = '55P03';

/** Why a database cannot be connected to, or undefined for an error that says something else. */
export function explainUnreachable(error: unknown): string | undefined {
  // A name with several addresses fails with one error for each.
  const [first] = error instanceof AggregateError ? error.errors : [error];
  const { code, message, syscall } = first as { code?: string; message: string; syscall?: string };
  // A statement that took too long, or waited too long, was cancelled by a database that could be reached.
  if (code === statementTimeout || code === lockTimeout) return undefined;
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
