import type { z } from 'zod';
import { administrationEvents } from './administration-events.ts';
import type { EventDefinition } from './define-event.ts';
import { oauthEvents, requestEvents, signInEvents } from './request-events.ts';

/** The catalogue of the audit log: every event that is ever written, by its name. */
export const auditEvents = {
  ...requestEvents,
  ...signInEvents,
  ...oauthEvents,
  ...administrationEvents,
} satisfies Record<string, EventDefinition>;

/** What an event tells, beside its name and time. Addresses are masked wherever they stand. */
export type AuditEvents = { [Name in keyof typeof auditEvents]: z.input<(typeof auditEvents)[Name]['fields']> };

export type AuditEvent = keyof AuditEvents;

/** An event that says who did it. */
export type AdministrationEvent = keyof typeof administrationEvents;

/** Who changes something in the administration. */
export type AuditActor = { readonly by: 'operator' | 'server' } | { readonly by: 'user'; readonly by_user_id: number };
