import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** Encrypts secrets for the database. A secret opens only with its own purpose, such as 'webhook secret'. */
export interface SecretBox {
  seal(plaintext: string, purpose: string): Buffer;
  open(sealed: Uint8Array, purpose: string): string;
}

/** A secret cannot be decrypted: it was changed, or encrypted with another application key. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
}

/** The first byte of a sealed secret, for AES-256-GCM. The nonce, the tag and the ciphertext follow. */
const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;

/**
 * Uses AES-256-GCM with a key that is derived from the application key, and a random nonce for each secret. Nonces may
 * repeat after about 2^32 secrets, far more than any installation has.
 */
export function buildSecretBox(appKey: Uint8Array): SecretBox {
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board secret box 1', 32));
  return {
    seal(plaintext, purpose) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), ciphertext]);
    },
    open(sealed, purpose) {
      if (sealed[0] !== version || sealed.length < headBytes)
        throw new SecretBoxError('The secret has an unknown form');
      const nonce = sealed.subarray(1, 1 + nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(sealed.subarray(1 + nonceBytes, headBytes));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8');
      } catch (error) {
        throw new SecretBoxError('The secret was encrypted with another APP_KEY', { cause: error });
      }
    },
  };
}
