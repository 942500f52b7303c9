import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, timestamp } from './columns.ts';

export type DeliveryState = 'pending' | 'delivered' | 'dead';

/** An event on its way to an endpoint. */
export const WebhookDelivery = defineEntity({
  name: 'WebhookDelivery',
  tableName: 'webhook_deliveries',
  properties: {
    ...accountKey,
    endpointId: bigint(),
    eventId: p.uuid(),
    /** One of the endpoint's eight, in each of which one is sent after the other. */
    lane: p.smallint().default(0),
    state: p.text().$type<DeliveryState>().default('pending'),
    attemptCount: p.integer().default(0),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    nextAttemptAt: timestamp().nullable(),
    finishedAt: timestamp().nullable(),
    /** Whether the event's body was rewritten meanwhile: then no answer is kept, which may repeat it. */
    isRedacted: p.boolean().default(false),
  },
});
export type WebhookDelivery = InferEntity<typeof WebhookDelivery>;
