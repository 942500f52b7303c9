import { randomBytes } from 'node:crypto';

/** The `purpose` argument for SecretBox, for encrypting and decrypting the secret of a webhook. */
export const secretPurpose = 'webhook secret';

const secretPrefix = 'whsec_';
/** The length of a secret in bytes. The Standard Webhooks specification requires 24 to 64 bytes. */
const secretBytes = 32;

/** Generates a secret in the format that users see, such as `whsec_…`. */
export function makeWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

/** Returns the bytes of a secret. They are the key for signatures. */
export function signingKey(secret: string): Buffer {
  return Buffer.from(secret.slice(secretPrefix.length), 'base64');
}
