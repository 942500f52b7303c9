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

/** An audit entry that waits in a job until a worker writes it. */
interface AuditEntry {
  event: AuditEntryName;
  fields: AuditEntries[AuditEntryName];
  at: string;
}

/**
 * Collects the audit entries of a process without an audit log, such as a command. A command may run on another machine
 * than the server, or as another system user. The caller stores the collected entries as jobs, in the transaction of
 * the change. A worker then writes the entries to the audit log.
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
    /** Adds a job for each collected entry. */
    async leave(db: Queryable) {
      // All entries use the same named queue, which runs its jobs in the order in which they were added.
      for (const one of entries) await addJob(db, { task: 'record_audit_event', payload: one, queueName: 'audit' });
    },
  };
}

/** Builds the task that writes an audit entry. If the worker crashes, an entry may be written twice. */
export function recordAuditEntries(audit: AuditLog) {
  return async (payload: unknown) => {
    const { event, fields, at } = payload as AuditEntry;
    // A newer version of the server may have added a type of audit entry that this version does not know. The job of
    // such an entry fails until a worker of the newer version runs it.
    if (!Object.hasOwn(auditEntries, event)) throw new Error(`There is no audit entry ${event}`);
    audit.record(event, fields, new Date(at));
  };
}
