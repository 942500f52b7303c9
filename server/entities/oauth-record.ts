import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime, timestamp } from './columns.ts';

/** A client, an interaction, a session, a grant, a code or a token of the OAuth provider. */
export const OauthRecord = defineEntity({
  name: 'OauthRecord',
  tableName: 'oauth_records',
  properties: {
    model: p.text().primary(),
    /** SHA-256 of the id. */
    idHash: p.blob().primary(),
    /** Without the id. */
    payload: p.json().$type<Record<string, unknown>>().columnType('jsonb'),
    /** Whom it is of; null for a client, and until somebody signs in. */
    userId: bigint().nullable(),
    /** The token that the grant is. */
    tokenId: bigint().nullable(),
    /** The account of the token. */
    accountId: bigint().nullable(),
    grantId: p.text().nullable(),
    uid: p.text().nullable(),
    /** The idHash of the refresh token that issued this refresh token; null where a code did. */
    parentHash: p.blob().nullable(),
    createdAt: creationTime(),
    consumedAt: timestamp().nullable(),
    /** A client's is put off by each token that it is given, and so is a grant's: what is not used any more goes. */
    expiresAt: timestamp().nullable(),
  },
});
export type OauthRecord = InferEntity<typeof OauthRecord>;
