import { type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

/**
 * A secret of an account. The account's own applications use it to sign tokens, which sign people in on embedded
 * boards.
 */
export const EmbeddingSecret = defineTable('EmbeddingSecret', 'embedding_secrets', {
  ...accountKey,
  /** The secret, encrypted with the application key. */
  secret: p.blob(),
  createdAt: creationTime(),
  /** The time of the last sign-in with the secret, updated at most once a minute. */
  lastUsedAt: timestamp().nullable(),
});
export type EmbeddingSecret = InferEntity<typeof EmbeddingSecret>;

/** A sign-in token of an embedded board that somebody has used. The server refuses a second use of this token. */
export const UsedEmbeddingToken = defineTable('UsedEmbeddingToken', 'used_embedding_tokens', {
  accountId: bigint().primary(),
  /** The SHA-256 of the signed part of the token. */
  tokenHash: p.blob().primary(),
  /** The token has certainly expired at this time. The row is deleted after this time. */
  expiresAt: timestamp(),
});
