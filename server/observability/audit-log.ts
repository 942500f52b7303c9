import { type DestinationStream, pino } from 'pino';
import { type AuditEntries, type AuditEntryName, auditEntries } from './audit-entries.ts';
import type { EntryDefinition } from './define-entry.ts';
import { maskIp } from './mask-addresses.ts';
import type { Redactor } from './redactor.ts';

/** The log of security events, with one line of JSON for each entry (specification: Limits, operational rule 3). */
export interface AuditLog {
  /**
   * Writes an entry. But if `countsRepetitions` is set for the entry's name and the entry repeats another one, only
   * counts the repetition. `at` is the time of the event, by default the current time.
   */
  record<Name extends AuditEntryName>(name: Name, fields: AuditEntries[Name], at?: Date): void;
}

export interface AuditLogOptions {
  destination: DestinationStream;
  redactor: Redactor;
  /**
   * The duration of a time window, in milliseconds. Within a window, the log only counts repeated entries. At the end
   * of the window, the log writes how often each entry was repeated.
   */
  repeatWindowMs?: number;
}

type Fields = Record<string, unknown>;

/**
 * A time window in which the log counts the repeated entries of one kind. An entry is repeated if it has the same
 * fields as an earlier entry of this window.
 */
interface RepeatWindow {
  kinds: Map<string, { fields: Fields; repeated: number }>;
  /**
   * The number of entries that do not fit into `kinds`, because it already has maxKinds different entries. The log
   * writes one total for them.
   */
  others: number;
  timer: NodeJS.Timeout;
}

/**
 * The maximum number of different entries of one kind that the log writes in a time window. It limits the memory and
 * the log lines that an attacker can cause.
 */
const maxKinds = 100;

const definitions: Record<AuditEntryName, EntryDefinition> = auditEntries;

export function buildAuditLog({ destination, redactor, repeatWindowMs = 60_000 }: AuditLogOptions): AuditLog & {
  /** Ends the current time windows: writes how often each entry was repeated. */
  close(): void;
} {
  const lines = pino(
    {
      base: null,
      timestamp: false,
      // Adds the field `log`, which distinguishes audit entries from ordinary log lines if both go to standard output.
      formatters: { level: () => ({ log: 'audit' }), log: fields => redactor.value(fields) as Fields },
    },
    destination,
  );
  const windows = new Map<AuditEntryName, RepeatWindow>();

  function write(event: AuditEntryName, { ip, ...fields }: Fields, at = new Date()) {
    const client = typeof ip === 'string' ? { ip: maskIp(ip, redactor.hash) } : {};
    lines.info({ time: at.toISOString(), event, ...client, ...fields });
  }

  function endWindow(name: AuditEntryName, { kinds, others, timer }: RepeatWindow) {
    clearTimeout(timer);
    windows.delete(name);
    for (const { fields, repeated } of kinds.values()) if (repeated > 0) write(name, { ...fields, repeated });
    if (others > 0) write(name, { repeated: others });
  }

  function openWindow(name: AuditEntryName): RepeatWindow {
    const timer = setTimeout(() => endWindow(name, window), repeatWindowMs).unref();
    const window: RepeatWindow = { kinds: new Map(), others: 0, timer };
    windows.set(name, window);
    return window;
  }

  /** Counts an entry. Returns whether it is the first entry with these fields in the time window. */
  function isFirst(name: AuditEntryName, fields: Fields): boolean {
    const window = windows.get(name) ?? openWindow(name);
    const kind = JSON.stringify(fields);
    const known = window.kinds.get(kind);
    if (known) known.repeated += 1;
    else if (window.kinds.size < maxKinds) window.kinds.set(kind, { fields, repeated: 0 });
    else window.others += 1;
    return known === undefined && window.kinds.has(kind);
  }

  return {
    record(name, fields, at) {
      const { request_id: _, ...alike } = fields as Fields;
      if (!definitions[name].countsRepetitions || isFirst(name, alike)) write(name, fields, at);
    },
    close() {
      for (const [name, window] of windows) endWindow(name, window);
    },
  };
}
