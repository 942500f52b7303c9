import { type InferEntity, p } from '@mikro-orm/core';
import type { EventType } from '../../contract/events.ts';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

/** A webhook endpoint: a URL that receives events of an account. */
export const WebhookEndpoint = defineTable('WebhookEndpoint', 'webhook_endpoints', {
  ...accountKey,
  /** The board whose events the endpoint receives. Null for all boards of the account. */
  boardId: bigint().nullable(),
  /** The token that created the endpoint. Null if a person created it. */
  tokenId: bigint().nullable(),
  url: p.text(),
  description: p.text().default(''),
  /** The types of events that the endpoint receives. An empty list means every type except idea.voted. */
  eventTypes: p.array().$type<EventType[]>().columnType('text[]').default([]),
  /** The secret that signs deliveries, encrypted with the application key. */
  secret: p.blob(),
  previousSecret: p.blob().nullable(),
  previousSecretExpiresAt: timestamp().nullable(),
  /**
   * The time of the first failed attempt after the last successful attempt. Null if no attempt has failed since the
   * last success.
   */
  failingSince: timestamp().nullable(),
  /** The time until which only one process may send to the endpoint, because the endpoint is failing. */
  probedUntil: timestamp().nullable(),
  disabledAt: timestamp().nullable(),
  disabledReason: p.text().nullable(),
  createdAt: creationTime(),
});
export type WebhookEndpoint = InferEntity<typeof WebhookEndpoint>;

export type DeliveryState = 'pending' | 'delivered' | 'dead';

export const WebhookDelivery = defineTable('WebhookDelivery', 'webhook_deliveries', {
  ...accountKey,
  endpointId: bigint(),
  eventId: p.uuid(),
  /**
   * The lane of the delivery: one of the endpoint's eight delivery queues. The server sends the deliveries of a lane
   * one after the other.
   */
  lane: p.smallint().default(0),
  state: p.text().$type<DeliveryState>().default('pending'),
  attemptCount: p.integer().default(0),
  createdAt: creationTime(),
  nextAttemptAt: timestamp().nullable(),
  finishedAt: timestamp().nullable(),
  /**
   * Whether an erasure has rewritten the event. If true, the server stores no response of the receiver, because the
   * response may repeat erased data.
   */
  isRedacted: p.boolean().default(false),
});

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
