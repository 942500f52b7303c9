import { expect } from 'vitest';
import { z } from 'zod';
import { type AuditEntryName, auditEntries } from '../../server/observability/audit-entries.ts';

export interface AuditLine {
  event: AuditEntryName;
  time: string;
  /** Other fields, which depend on the kind of the entry and on the actor. */
  [field: string]: unknown;
}

/**
 * Parses the lines of an audit log, and checks each entry against the catalogue of audit entries. If an entry counts
 * repetitions (`repeated`), checks only its event and its time.
 */
export function readAudit(lines: readonly string[]): AuditLine[] {
  return lines.map(line => {
    expect(line).toMatch(/^\{.*\}\n$/);
    const { log, time, event, ...fields } = JSON.parse(line);
    expect(log).toBe('audit');
    expect(z.iso.datetime().safeParse(time).success, time).toBe(true);
    const definition = auditEntries[event as AuditEntryName];
    expect(definition, `${event} is in the catalogue`).toBeDefined();
    const { repeated, ...described } = fields;
    const { error } = repeated === undefined ? definition.fields.safeParse(described) : {};
    expect(error, `${event} ${JSON.stringify(fields)}`).toBeUndefined();
    return { event, time, ...fields };
  });
}
