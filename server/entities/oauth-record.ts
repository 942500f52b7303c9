import { type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime, defineTable, timestamp } from './columns.ts';

/** A client, an interaction, a session, a grant, a code or a token of the OAuth provider. */
export const OauthRecord = defineTable('OauthRecord', 'oauth_records', {
  model: p.text().primary(),
  /** SHA-256 of the id. */
  idHash: p.blob().primary(),
  /** Without the id. */
  payload: p.json().$type<Record<string, unknown>>().columnType('jsonb'),
  /** Null for a client, and until a user signs in. */
  userId: bigint().nullable(),
  /** The API token of the grant. */
  tokenId: bigint().nullable(),
  /** The account of the token. */
  accountId: bigint().nullable(),
  grantId: p.text().nullable(),
  uid: p.text().nullable(),
  /** The idHash of the previous refresh token; null if the refresh token comes from a code. */
  parentHash: p.blob().nullable(),
  createdAt: creationTime(),
  consumedAt: timestamp().nullable(),
  /** Each new token extends the time of its client and of its grant, so unused ones expire. */
  expiresAt: timestamp().nullable(),
});
export type OauthRecord = InferEntity<typeof OauthRecord>;
