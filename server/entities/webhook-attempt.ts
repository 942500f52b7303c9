import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, timestamp } from './columns.ts';

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
export type WebhookAttempt = InferEntity<typeof WebhookAttempt>;
