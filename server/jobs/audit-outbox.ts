import { addJob } from '../database/add-job.ts';
import type { Queryable } from '../database/database.ts';
import type { AuditTrail } from '../domain/administration.ts';
import { type AuditActor, type AuditEvent, type AuditEvents, auditEvents } from '../observability/audit-events.ts';
import type { AuditLog } from '../observability/audit-log.ts';

/** An event on its way to the audit log. */
interface LeftEvent {
  event: AuditEvent;
  fields: AuditEvents[AuditEvent];
  at: string;
}

/**
 * The audit trail of a process that has no audit log of its own, such as a command of the command line: its output is
 * what it prints, and it may run on another machine, or as another user, than the server. It leaves its events in the
 * database, in the transaction of what they tell of, and a worker writes them.
 */
export function collectAuditEvents(actor: AuditActor, now: Date) {
  const left: LeftEvent[] = [];
  const trail: AuditTrail = {
    record(event, fields) {
      left.push({ event, fields: { ...actor, ...fields } as AuditEvents[typeof event], at: now.toISOString() });
    },
  };
  return {
    trail,
    /** Leaves what was collected to the workers. */
    async leave(db: Queryable) {
      // One queue, so that the events are written in this order.
      for (const one of left) await addJob(db, { task: 'record_audit_event', payload: one, queueName: 'audit' });
    },
  };
}

/** The task that writes an event. After a crash of the worker it may be written twice. */
export function recordAuditEvent(audit: AuditLog) {
  return async (payload: unknown) => {
    const { event, fields, at } = payload as LeftEvent;
    // One of a newer version waits for a worker that knows it.
    if (!Object.hasOwn(auditEvents, event)) throw new Error(`There is no event ${event}`);
    audit.record(event, fields, new Date(at));
  };
}
