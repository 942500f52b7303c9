import { addJob } from '../database/add-job.ts';
import type { Queryable } from '../database/database.ts';
import type { AuditTrail } from '../domain/administration.ts';
import {
  type AuditActor,
  type AuditEntries,
  type AuditEntryName,
  auditEntries,
} from '../observability/audit-entries.ts';
import type { AuditLog } from '../observability/audit-log.ts';

/** An audit entry that a worker is to write. */
interface AuditEntry {
  event: AuditEntryName;
  fields: AuditEntries[AuditEntryName];
  at: string;
}

/**
 * Collects the audit entries of a process without an audit log, such as a command: it may run on another machine than
 * the server, or as another user. It stores its entries as jobs in the transaction of its change. A worker writes them.
 */
export function collectAuditEntries(actor: AuditActor, now: Date) {
  const entries: AuditEntry[] = [];
  const trail: AuditTrail = {
    record(event, fields) {
      entries.push({ event, fields: { ...actor, ...fields } as AuditEntries[typeof event], at: now.toISOString() });
    },
  };
  return {
    trail,
    /** Adds a job for each entry. */
    async leave(db: Queryable) {
      // One queue keeps the order of the entries.
      for (const one of entries) await addJob(db, { task: 'record_audit_event', payload: one, queueName: 'audit' });
    },
  };
}

/** Builds the task that writes an audit entry. After a crash of the worker an entry may be written twice. */
export function recordAuditEntries(audit: AuditLog) {
  return async (payload: unknown) => {
    const { event, fields, at } = payload as AuditEntry;
    // The event of a newer version waits for a worker that knows it.
    if (!Object.hasOwn(auditEntries, event)) throw new Error(`There is no audit entry ${event}`);
    audit.record(event, fields, new Date(at));
  };
}
