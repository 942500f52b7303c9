import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { Grant } from '../../contract/grants.ts';
import { accountKey, bigint, creationTime, timestamp } from './columns.ts';

export const ApiToken = defineEntity({
  name: 'ApiToken',
  tableName: 'api_tokens',
  properties: {
    ...accountKey,
    issuerId: bigint(),
    /** Each token is one voter. */
    voterId: bigint(),
    kind: p.text().$type<'api' | 'oauth'>().default('api'),
    name: p.text(),
    /** SHA-256 of the secret; the plaintext is stored nowhere. */
    secretHash: p.blob(),
    expiresAt: timestamp().nullable(),
    /** Kept to the minute. */
    lastUsedAt: timestamp().nullable(),
    revokedAt: timestamp().nullable(),
    createdAt: creationTime(),
  },
});
export type ApiToken = InferEntity<typeof ApiToken>;

export const ApiTokenBoard = defineEntity({
  name: 'ApiTokenBoard',
  tableName: 'api_token_boards',
  properties: {
    accountId: bigint().primary(),
    tokenId: bigint().primary(),
    boardId: bigint().primary(),
    level: p.text().$type<Grant>(),
  },
});

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

export const RateLimit = defineEntity({
  name: 'RateLimit',
  tableName: 'rate_limits',
  properties: {
    /** `<bucket>:<identity>` */
    key: p.text().primary(),
    windowStartedAt: timestamp(),
    expiresAt: timestamp(),
    count: p.integer(),
  },
});
