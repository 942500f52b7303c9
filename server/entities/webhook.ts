import { type InferEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../contract/events.ts';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

/** A URL that receives the events of an account. */
export const WebhookEndpoint = defineTable('WebhookEndpoint', 'webhook_endpoints', {
  ...accountKey,
  /** Null for every board of the account. */
  boardId: bigint().nullable(),
  url: p.text(),
  description: p.text().default(''),
  /** Empty for every type. */
  eventTypes: p.array().$type<EventType[]>().columnType('text[]').default([]),
  /** Encrypted with the application key. */
  secret: p.blob(),
  previousSecret: p.blob().nullable(),
  previousSecretExpiresAt: timestamp().nullable(),
  /** The time of the first failed attempt after the last success; null after a success. */
  failingSince: timestamp().nullable(),
  /** While the endpoint fails, only one process may send to it until this time. */
  probedUntil: timestamp().nullable(),
  disabledAt: timestamp().nullable(),
  disabledReason: p.text().nullable(),
  createdAt: creationTime(),
});
export type WebhookEndpoint = InferEntity<typeof WebhookEndpoint>;

export type DeliveryState = 'pending' | 'delivered' | 'dead';

/** The delivery of an event to an endpoint. */
export const WebhookDelivery = defineTable('WebhookDelivery', 'webhook_deliveries', {
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
  /** True after an erasure rewrote the event. Then no response is stored, because it may repeat erased data. */
  isRedacted: p.boolean().default(false),
});

/** One attempt of a delivery, with the response or the error. */
export const WebhookAttempt = defineTable('WebhookAttempt', 'webhook_attempts', {
  ...accountKey,
  deliveryId: bigint(),
  attemptedAt: timestamp(),
  durationMs: p.integer(),
  status: p.integer().nullable(),
  error: p.text().nullable(),
  /** The beginning of the response body. */
  response: p.text().nullable(),
});
