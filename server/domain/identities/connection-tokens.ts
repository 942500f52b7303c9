import { buildSecretBox } from '../secret-box.ts';
import type { Connection } from './connect-identity.ts';

/**
 * The tokens in links that connect an external identity (a person at a provider) to a user. A token contains the
 * identity and the user. Only this user can use the token, and must be signed in without a provider. The database does
 * not store the token.
 */
export interface ConnectionTokens {
  make(connection: Connection, expiresAt: Date): string;
  /** Returns undefined for an expired token and for a text that is not a token of this server. */
  read(token: string, now: Date): Connection | undefined;
}

const purpose = 'identity to connect';

export function buildConnectionTokens(appKey: Uint8Array): ConnectionTokens {
  const box = buildSecretBox(appKey);
  return {
    make: ({ accountId, providerId, userId, subject }, expiresAt) =>
      box.sealUntil({ accountId, providerId, userId, subject }, purpose, expiresAt),
    read: (token, now) => box.openUntil(token, purpose, now),
  };
}
