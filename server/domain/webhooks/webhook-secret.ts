import { randomBytes } from 'node:crypto';

/** The purpose that the secret box binds a sealed secret to. */
export const secretPurpose = 'webhook secret';

const secretPrefix = 'whsec_';
/** Standard Webhooks asks for 24 to 64. */
const secretBytes = 32;

/** Makes a new secret in the form that is shown once, such as `whsec_…`. */
export function makeWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

/** Returns the bytes of a secret: the key that signs. */
export function signingKey(secret: string): Buffer {
  return Buffer.from(secret.slice(secretPrefix.length), 'base64');
}
