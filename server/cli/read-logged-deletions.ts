import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { LoggedDeletion } from '../domain/erasure/repeat-deletions.ts';
import { type AuditLine, parseAuditLine } from '../observability/read-audit-tail.ts';

const states: Readonly<Record<string, LoggedDeletion['state']>> = {
  'account.deletion_scheduled': 'requested',
  'account.deletion_cancelled': 'cancelled',
  'account.erased': 'erased',
  'user.deletion_requested': 'requested',
  'user.deletion_cancelled': 'cancelled',
  'user.erased': 'erased',
};

/**
 * Reads the deletions of accounts and users from an audit log, or from a log that contains audit entries. Ignores
 * entries up to the time `since`, and returns the last state of each deletion.
 */
export async function readLoggedDeletions(path: string, since: Date): Promise<LoggedDeletion[]> {
  const entries: AuditLine[] = [];
  const lines = createInterface({ input: createReadStream(path), crlfDelay: Number.POSITIVE_INFINITY });
  for await (const line of lines) {
    const entry = parseAuditLine(line);
    if (entry && Object.hasOwn(states, entry.event) && new Date(entry.time) > since) entries.push(entry);
  }
  // Several processes write to the log, so its lines may be slightly out of order.
  entries.sort((one, other) => one.time.localeCompare(other.time));
  const deletions = new Map<string, LoggedDeletion>();
  for (const { event, time, account_id, user_id } of entries) {
    const what = event.startsWith('account.') ? 'account' : 'user';
    const id = Number(what === 'account' ? account_id : user_id);
    const state = states[event];
    if (state === undefined || !Number.isSafeInteger(id)) continue;
    const key = `${what} ${id}`;
    const known = deletions.get(key);
    // A second request does not start the grace period again.
    const at = state === 'requested' && known?.state === 'requested' ? known.at : time;
    if (known?.state !== 'erased') deletions.set(key, { what, id, state, at });
  }
  return [...deletions.values()];
}
