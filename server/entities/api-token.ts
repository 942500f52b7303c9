import { type InferEntity, p } from '@mikro-orm/core';
import type { Capability, Grant } from '../../contract/grants.ts';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

export const ApiToken = defineTable('ApiToken', 'api_tokens', {
  ...accountKey,
  issuerId: bigint(),
  /** The id of the voter that owns the token's votes. Each token has its own voter. */
  voterId: bigint(),
  kind: p.text().$type<'api' | 'oauth'>().default('api'),
  name: p.text(),
  capabilities: p.array().$type<Capability[]>().columnType('text[]').default([]),
  /** The SHA-256 of the secret. The server never stores the secret itself. */
  secretHash: p.blob(),
  /**
   * The SHA-256 of the old secret, which the last rotation replaced. The old secret works until
   * previousSecretExpiresAt.
   */
  previousSecretHash: p.blob().nullable(),
  previousSecretExpiresAt: timestamp().nullable(),
  /**
   * The token's own rate limits for each time window. Null means that the server's limit applies. A limit above the
   * server's limit has no effect.
   */
  readLimit: p.integer().nullable(),
  writeLimit: p.integer().nullable(),
  /** The networks from which clients may use the token. An empty list means every network. */
  allowedNetworks: p.array().columnType('cidr[]').default([]),
  expiresAt: timestamp().nullable(),
  /**
   * The last notice about the token's expiry was due this number of days before the expiry. Null if no notice was due
   * yet.
   */
  expiryNoticeDays: p.integer().nullable(),
  /** The time when the token was last used, updated at most once a minute. */
  lastUsedAt: timestamp().nullable(),
  /** The network of the last use, never a complete IP address. The server removes the network after some time. */
  lastUsedNetwork: p.text().columnType('cidr').nullable(),
  /** The name and the version of the SDK that last used the token. Null if the last use came from another program. */
  lastUsedClient: p.text().nullable(),
  revokedAt: timestamp().nullable(),
  createdAt: creationTime(),
});
export type ApiToken = InferEntity<typeof ApiToken>;

export const ApiTokenBoard = defineTable('ApiTokenBoard', 'api_token_boards', {
  accountId: bigint().primary(),
  tokenId: bigint().primary(),
  boardId: bigint().primary(),
  level: p.text().$type<Grant>(),
});

export const IdempotencyKey = defineTable('IdempotencyKey', 'idempotency_keys', {
  accountId: bigint().primary(),
  tokenId: bigint().primary(),
  path: p.text().primary(),
  key: p.text().primary(),
  /**
   * The SHA-256 of the request. It distinguishes a repeated request from a different request with the same
   * Idempotency-Key.
   */
  fingerprint: p.blob(),
  status: p.integer(),
  body: p.text(),
  expiresAt: timestamp(),
});

/**
 * The recent uses of one operation by one token. Servers count uses in memory, and add their counts to the row in
 * batches.
 */
export const TokenUsage = defineTable('TokenUsage', 'token_usage', {
  accountId: bigint().primary(),
  tokenId: bigint().primary(),
  /** The operation as method and path, such as `GET /api/v1/ideas/{id}`. */
  operation: p.text().primary(),
  /** The number of requests since firstUsedAt. */
  requestCount: bigint(),
  /** For each parameter that the contract defines: the day of its last use, such as `2026-11-23`. */
  parameters: p.json().$type<Record<string, string>>().columnType('jsonb'),
  /** For each field of the body, such as `title`: the day of its last use. */
  fields: p.json().$type<Record<string, string>>().columnType('jsonb'),
  firstUsedAt: timestamp(),
  lastUsedAt: timestamp(),
  expiresAt: timestamp(),
});

export const RateLimit = defineTable('RateLimit', 'rate_limits', {
  /** The key of a rate limit counter: `<name of the limit>:<token or IP address>`. */
  key: p.text().primary(),
  windowStartedAt: timestamp(),
  expiresAt: timestamp(),
  count: p.integer(),
});
