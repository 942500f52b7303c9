/** PostgreSQL chose this transaction to break a deadlock or could not serialize it: nothing was written. */
const codes: ReadonlySet<unknown> = new Set(['40P01', '40001']);

/** Whether a transaction lost against another one: the next try may do what this one did not. */
export function isConflict(error: unknown): boolean {
  return codes.has((error as { code?: unknown }).code);
}
