import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

export const IdempotencyKey = defineEntity({
  name: 'IdempotencyKey',
  tableName: 'idempotency_keys',
  properties: {
    accountId: bigint().primary(),
    tokenId: bigint().primary(),
    path: p.text().primary(),
    key: p.text().primary(),
    /** SHA-256 of the request, to tell a repetition from a different request under the same key. */
    fingerprint: p.blob(),
    status: p.integer(),
    body: p.text(),
    expiresAt: timestamp(),
  },
});
export type IdempotencyKey = InferEntity<typeof IdempotencyKey>;
