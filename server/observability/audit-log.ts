import { type DestinationStream, pino } from 'pino';
import { type AuditEvent, type AuditEvents, auditEvents } from './audit-events.ts';
import type { EventDefinition } from './define-event.ts';
import { maskIp } from './mask-addresses.ts';
import type { Redactor } from './redactor.ts';
import { RepeatedEvents } from './repeated-events.ts';

/** The log of what matters to security, one JSON line for each event (Limits, operational rule 3). */
export interface AuditLog {
  /** Writes an event that has happened, now or at a time before. */
  record<Event extends AuditEvent>(event: Event, fields: AuditEvents[Event], at?: Date): void;
}

export interface AuditLogOptions {
  destination: DestinationStream;
  redactor: Redactor;
  /** For how long the repetitions of an event are counted before they are told. */
  repeatWindowMs?: number;
}

type Fields = Record<string, unknown>;

const definitions: Record<AuditEvent, EventDefinition> = auditEvents;

export function buildAuditLog({ destination, redactor, repeatWindowMs = 60_000 }: AuditLogOptions): AuditLog & {
  /** Writes what was counted and is not told yet. */
  close(): void;
} {
  const lines = pino(
    {
      base: null,
      timestamp: false,
      // On standard output it tells these lines from those of the ordinary log.
      formatters: { level: () => ({ log: 'audit' }), log: fields => redactor.value(fields) as Fields },
    },
    destination,
  );
  const write = (event: AuditEvent, { ip, ...fields }: Fields, at = new Date()) => {
    const client = typeof ip === 'string' ? { ip: maskIp(ip, redactor.hash) } : {};
    lines.info({ time: at.toISOString(), event, ...client, ...fields });
  };
  const repeats = new Map<AuditEvent, RepeatedEvents<Fields>>();
  const repeatsOf = (event: AuditEvent) => {
    const known = repeats.get(event);
    if (known) return known;
    const made = new RepeatedEvents<Fields>(
      repeatWindowMs,
      (fields, repeated) => write(event, { ...fields, repeated }),
      repeated => write(event, { repeated }),
    );
    repeats.set(event, made);
    return made;
  };

  return {
    record(event, fields, at) {
      const { kind } = definitions[event];
      if (!kind) return write(event, fields, at);
      const alike = Object.fromEntries(kind.map(name => [name, (fields as Fields)[name]]));
      if (repeatsOf(event).isFirst(JSON.stringify(alike), alike)) write(event, fields, at);
    },
    close() {
      for (const one of repeats.values()) one.endWindow();
    },
  };
}
