import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { t } from '../text/catalogue.ts';
import { writeForRecords } from '../text/language.ts';
import { deriveKey } from './signer.ts';

/**
 * Encrypts secrets for the database. The caller states the purpose of each secret, such as 'webhook secret'. A secret
 * can be decrypted only with the same purpose.
 */
export interface SecretBox {
  seal(plaintext: string, purpose: string): Buffer;
  open(sealed: Uint8Array, purpose: string): string;
  /** Encrypts a JSON value for a link, a form or a cookie. */
  sealUntil(value: unknown, purpose: string, expiresAt: Date): string;
  /** Decrypts a result of sealUntil. Returns undefined for an expired result and for any other text. */
  openUntil<Value>(sealed: string, purpose: string, now: Date): Value | undefined;
}

/** The error if a secret cannot be decrypted, for example because it was encrypted with another application key. */
export class SecretBoxError extends Error {
  override readonly name = 'SecretBoxError';
  readonly reason: 'unknown_form' | 'another_key';

  constructor(reason: SecretBoxError['reason'], options?: ErrorOptions) {
    super(
      writeForRecords(() => t(`refusals.secret.${reason}`)),
      options,
    );
    this.reason = reason;
  }
}

/**
 * The format version, which is the first byte of an encrypted secret. In version 1, AES-256-GCM encrypts the secret.
 * The nonce, the tag and the ciphertext follow the first byte.
 */
const version = 1;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + nonceBytes + tagBytes;

/**
 * Encrypts with AES-256-GCM. The key is derived from the application key, and each secret has a random nonce. With
 * random nonces, it is safe to encrypt 2^32 secrets with one key. No database of this server has that many secrets.
 */
export function buildSecretBox(appKey: Uint8Array): SecretBox {
  const key = deriveKey(appKey, 'secret box');
  const box: SecretBox = {
    seal(plaintext, purpose) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(purpose));
      const ciphertext = Buffer.concat([cipher.update(plaintext, 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(version), nonce, cipher.getAuthTag(), ciphertext]);
    },
    open(sealed, purpose) {
      if (sealed[0] !== version || sealed.length < headBytes) throw new SecretBoxError('unknown_form');
      const nonce = sealed.subarray(1, 1 + nonceBytes);
      const decipher = createDecipheriv('aes-256-gcm', key, nonce, { authTagLength: tagBytes })
        .setAAD(Buffer.from(purpose))
        .setAuthTag(sealed.subarray(1 + nonceBytes, headBytes));
      try {
        return Buffer.concat([decipher.update(sealed.subarray(headBytes)), decipher.final()]).toString('utf8');
      } catch (error) {
        throw new SecretBoxError('another_key', { cause: error });
      }
    },
    sealUntil(value, purpose, expiresAt) {
      return box.seal(JSON.stringify([expiresAt.getTime(), value]), purpose).toString('base64url');
    },
    openUntil(sealed, purpose, now) {
      try {
        const [end, value] = JSON.parse(box.open(Buffer.from(sealed, 'base64url'), purpose));
        return end > now.getTime() ? value : undefined;
      } catch {
        return undefined;
      }
    },
  };
  return box;
}
