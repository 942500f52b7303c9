import { type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime, defineTable, timestamp } from './columns.ts';

/**
 * A record of the library oidc-provider: a client, an interaction (a pending authorization request), a grant, an
 * authorization code or a token.
 */
export const OauthRecord = defineTable('OauthRecord', 'oauth_records', {
  model: p.text().primary(),
  /** The SHA-256 of the record's id. */
  idHash: p.blob().primary(),
  /** The JSON document of oidc-provider (the library), without the record's id. */
  payload: p.json().$type<Record<string, unknown>>().columnType('jsonb'),
  /**
   * The user of the record. Null for a client and its registration access token, and for an authorization request that
   * the user has not answered.
   */
  userId: bigint().nullable(),
  tokenId: bigint().nullable(),
  accountId: bigint().nullable(),
  grantId: p.text().nullable(),
  uid: p.text().nullable(),
  /**
   * The idHash of the refresh token that the client redeemed to get this refresh token. Null for the first refresh
   * token of a grant, and for other kinds of records.
   */
  parentHash: p.blob().nullable(),
  createdAt: creationTime(),
  consumedAt: timestamp().nullable(),
  /**
   * The time when the record expires. Each new token extends this time for its client and its grant, so clients and
   * grants in use do not expire.
   */
  expiresAt: timestamp().nullable(),
});
export type OauthRecord = InferEntity<typeof OauthRecord>;
