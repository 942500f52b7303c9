import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../contract/events.ts';
import { accountKey, bigint, creationTime, timestamp } from './columns.ts';

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
    createdAt: creationTime(),
  },
});
export type WebhookEndpoint = InferEntity<typeof WebhookEndpoint>;

export type DeliveryState = 'pending' | 'delivered' | 'dead';

/** An event on its way to an endpoint. */
export const WebhookDelivery = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'webhook_deliveries',
  properties: {
    ...accountKey,
    endpointId: bigint(),
    eventId: p.uuid(),
    /** One of the endpoint's eight lanes. The server sends the deliveries of a lane one after the other. */
    lane: p.smallint().default(0),
    state: p.text().$type<DeliveryState>().default('pending'),
    attemptCount: p.integer().default(0),
    createdAt: creationTime(),
    nextAttemptAt: timestamp().nullable(),
    finishedAt: timestamp().nullable(),
    /** Whether the event's body was rewritten meanwhile: then no answer is kept, which may repeat it. */
    isRedacted: p.boolean().default(false),
  },
});

/** One try of a delivery: what the endpoint answered, or why it did not. */
export const WebhookAttempt = defineEntity({
  name: 'WebhookAttempt',
  tableName: 'webhook_attempts',
  properties: {
    ...accountKey,
    deliveryId: bigint(),
    attemptedAt: timestamp(),
    durationMs: p.integer(),
    status: p.integer().nullable(),
    error: p.text().nullable(),
    /** The beginning of the answer. */
    response: p.text().nullable(),
  },
});
