import { createHmac, randomBytes } from 'node:crypto';

/*
 * Signing as Standard Webhooks specifies it: HMAC-SHA-256 over the id, the time and the body, once with each secret
 * that is valid.
 */

/** What secrets are sealed for. */
export const secretPurpose = 'webhook secret';

const secretPrefix = 'whsec_';
/** Standard Webhooks asks for 24 to 64. */
const secretBytes = 32;

/** A new secret in the form in which it is shown, once. */
export function makeWebhookSecret(): string {
  return secretPrefix + randomBytes(secretBytes).toString('base64');
}

/** The bytes that a secret stands for: what signs. */
export function signingKey(secret: string): Buffer {
  return Buffer.from(secret.slice(secretPrefix.length), 'base64');
}

export interface SignedMessage {
  /** The same at every try of a message, so that a receiver knows one that it has. */
  id: string;
  /** The time of this try, for the receiver to refuse old ones. */
  sentAt: Date;
  body: string;
}

/** The headers of a message. */
export function signMessage(keys: readonly Buffer[], { id, sentAt, body }: SignedMessage): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = keys.map(
    key => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
