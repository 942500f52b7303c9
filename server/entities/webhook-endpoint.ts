import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../contract/events.ts';
import { accountKey, bigint, timestamp } from './columns.ts';

/** Where an account wants to be told of events. */
export const WebhookEndpoint = defineEntity({
  name: 'WebhookEndpoint',
  tableName: 'webhook_endpoints',
  properties: {
    ...accountKey,
    /** Null: every board of the account. */
    boardId: bigint().nullable(),
    url: p.text(),
    description: p.text().default(''),
    /** Empty: every type. */
    eventTypes: p.array().$type<EventType[]>().columnType('text[]').default([]),
    /** Encrypted with the application key. */
    secret: p.blob(),
    previousSecret: p.blob().nullable(),
    previousSecretExpiresAt: timestamp().nullable(),
    /** Since when every try has failed; null while the last one succeeded. */
    failingSince: timestamp().nullable(),
    /** While it fails, until when one process alone may try it. */
    probedUntil: timestamp().nullable(),
    disabledAt: timestamp().nullable(),
    disabledReason: p.text().nullable(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type WebhookEndpoint = InferEntity<typeof WebhookEndpoint>;
