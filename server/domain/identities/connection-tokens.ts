import { buildSecretBox } from '../secret-box.ts';
import type { Connection } from './connect-identity.ts';

/** A connection that the user has not confirmed yet. */
interface OfferedConnection extends Connection {
  /** The canonical e-mail address that the identity and the user had when the server made the token. */
  canonicalEmail: string;
}

/**
 * The tokens in links that connect an external identity (a person at a provider) to a user. A token contains the
 * identity and the user. Only this user can use the token, and must be signed in without a provider. The database does
 * not store the token.
 */
export interface ConnectionTokens {
  make(connection: OfferedConnection, expiresAt: Date): string;
  /** Returns undefined for an expired token and for a text that is not a token of this server. */
  read(token: string, now: Date): OfferedConnection | undefined;
}

const purpose = 'identity to connect';

export function buildConnectionTokens(appKey: Uint8Array): ConnectionTokens {
  const box = buildSecretBox(appKey);
  return {
    make: ({ accountId, providerId, userId, subject, canonicalEmail }, expiresAt) =>
      box.sealUntil({ accountId, providerId, userId, subject, canonicalEmail }, purpose, expiresAt),
    read: (token, now) => box.openUntil(token, purpose, now),
  };
}
