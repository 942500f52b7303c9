import { expect } from 'vitest';
import { z } from 'zod';
import { type AuditEvent, auditEvents } from '../../server/observability/audit-events.ts';

export interface AuditLine {
  event: AuditEvent;
  time: string;
  /** What the event tells, but for who did it, and for the client. */
  [field: string]: unknown;
}

/** The lines of an audit log, each of which must be what the catalogue says, to the field. */
export function readAudit(lines: readonly string[]): AuditLine[] {
  return lines.map(line => {
    expect(line).toMatch(/^\{.*\}\n$/);
    const { log, time, event, ...fields } = JSON.parse(line);
    expect(log).toBe('audit');
    expect(z.iso.datetime().safeParse(time).success, time).toBe(true);
    const definition = auditEvents[event as AuditEvent];
    expect(definition, `${event} is in the catalogue`).toBeDefined();
    const { repeated, ...told } = fields;
    const { error } = repeated === undefined ? definition.fields.safeParse(told) : {};
    expect(error, `${event} ${JSON.stringify(fields)}`).toBeUndefined();
    return { event, time, ...fields };
  });
}
