import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, timestamp } from './columns.ts';

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
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type ApiToken = InferEntity<typeof ApiToken>;
