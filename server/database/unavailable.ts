/** Codes with which PostgreSQL or the network says that no answer can be had now. */
const codes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ENOENT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  '28000', // this user may not connect
  '28P01', // wrong password
  '3D000', // no such database
  '53300', // too many connections
  '57014', // the statement's time was over
  '57P01', // shut down by an administrator
  '57P02', // shut down by a crash
  '57P03', // starting up, or shutting down
  '25P03', // idle in transaction for too long
]);

/** pg has no codes for what it notices itself. */
const messages = [
  'Query read timeout',
  'timeout exceeded when trying to connect',
  'Connection terminated',
  'Client has encountered a connection error',
  'Cannot use a pool after calling end',
  'Client was closed and is not queryable',
];

/** Whether an error says that the database cannot be reached, as opposed to a fault of ours. */
export function isDatabaseUnavailable(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause ?? (cause as { previous?: unknown }).previous) {
    const { code } = cause as { code?: unknown };
    if (typeof code === 'string' && (codes.has(code) || code.startsWith('08'))) return true;
    if (messages.some(message => (cause as Error).message.includes(message))) return true;
  }
  return false;
}
