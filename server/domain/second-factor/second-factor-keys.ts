import { buildSecretBox } from '../secret-box.ts';
import { buildSigner } from '../signer.ts';

/**
 * Encrypts and decrypts the secrets of authenticator apps, and hashes recovery codes. The keys come from the
 * application key.
 */
export interface SecondFactorKeys {
  seal(userId: number, secret: string): Buffer;
  open(userId: number, sealed: Uint8Array): string;
  hashOf(userId: number, recoveryCode: string): Buffer;
  /**
   * Encrypts a new secret that the user has not confirmed yet. The page with the QR code contains the encrypted secret
   * in a hidden field. The database stores the secret only after the user has entered a right code.
   */
  sealOffer(userId: number, secret: string, expiresAt: Date): string;
  /** Returns the secret, or undefined if the text is invalid, has expired or was made for another user. */
  openOffer(userId: number, offer: string, now: Date): string | undefined;
}

/**
 * The `purpose` argument for SecretBox contains the user's id. So the server cannot decrypt a secret that somebody
 * copied into the row of another user.
 */
export const secondFactorPurpose = (userId: number) => `second factor of user ${userId}`;
const offerPurposeOf = (userId: number) => `offered second factor of user ${userId}`;

export function buildSecondFactorKeys(appKey: Uint8Array): SecondFactorKeys {
  const box = buildSecretBox(appKey);
  const signer = buildSigner(appKey, 'recovery code');
  return {
    seal: (userId, secret) => box.seal(secret, secondFactorPurpose(userId)),
    open: (userId, sealed) => box.open(sealed, secondFactorPurpose(userId)),
    hashOf: (userId, recoveryCode) => signer.macOf(`${userId} ${recoveryCode}`),
    sealOffer: (userId, secret, expiresAt) => box.sealUntil(secret, offerPurposeOf(userId), expiresAt),
    openOffer: (userId, offer, now) => box.openUntil(offer, offerPurposeOf(userId), now),
  };
}
