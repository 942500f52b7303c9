import { createHmac } from 'node:crypto';

/** A message to sign. */
interface SignedMessage {
  /** The same at every try of a message, so that a receiver can recognize a duplicate. */
  id: string;
  /** The time of this try, so that a receiver can refuse an old one. */
  sentAt: Date;
  body: string;
}

/**
 * Returns the headers of a message, as Standard Webhooks specifies them: an HMAC-SHA-256 over the id, the time and the
 * body for each valid secret.
 */
export function signMessage(keys: readonly Buffer[], { id, sentAt, body }: SignedMessage): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = keys.map(
    key => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
