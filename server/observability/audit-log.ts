import { type DestinationStream, pino } from 'pino';
import type { AuditEvent, AuditEvents } from './audit-events.ts';

/** The log of what matters to security, one JSON line for each event (Limits, operational rule 3). */
export interface AuditLog {
  record<Event extends AuditEvent>(event: Event, fields: AuditEvents[Event]): void;
}

export function buildAuditLog(destination: DestinationStream): AuditLog {
  const lines = pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  return {
    record: (event, fields) => lines.info({ event, ...fields }),
  };
}
