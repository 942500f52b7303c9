import { createHmac } from 'node:crypto';
import { writeEvent } from '../../domain/events/present-event.ts';
import { SecretBoxError } from '../../domain/secret-box.ts';
import { secretPurpose, signingKey } from '../../domain/webhooks/webhook-secret.ts';
import { type Channel, post } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import type { DueDelivery, DueEndpoint } from './pending-deliveries.ts';

/** An endpoint that answers this wants no more deliveries (Standard Webhooks). */
const gone = 410;
const maxCachedKeys = 1_000;

/** Posts deliveries, signed with each valid secret of their endpoint. */
export function buildWebhookChannel({
  requests,
  secretBox,
  clock,
}: Pick<TaskDependencies, 'requests' | 'secretBox' | 'clock'>): Channel<DueDelivery> {
  const keyOf = cacheKeys(sealed => signingKey(secretBox.open(sealed, secretPurpose)));

  function keysOf({ secret, previousSecret }: DueEndpoint): Buffer[] {
    const previousKey = previousSecret && keyUnlessLost(previousSecret);
    return previousKey ? [keyOf(secret), previousKey] : [keyOf(secret)];
  }

  /** After a change of APP_KEY, a rotated secret works. The secret before it, which is lost, must not prevent that. */
  function keyUnlessLost(sealed: Buffer): Buffer | undefined {
    try {
      return keyOf(sealed);
    } catch (error) {
      if (error instanceof SecretBoxError) return undefined;
      throw error;
    }
  }

  return {
    name: 'webhook',
    async send({ endpoint, event, eventId }, signal) {
      const now = clock.now();
      const body = writeEvent(event);
      const signature = signMessage(keysOf(endpoint), { id: `evt_${eventId}`, sentAt: now, body });
      const headers = { 'content-type': 'application/json', ...signature };
      const { url } = endpoint;
      return post(requests, { url, headers, body, receiver: 'The endpoint', goneStatuses: [gone], now }, signal);
    },
  };
}

/** Keeps the keys in use open: opening a secret costs more than signing with it. */
function cacheKeys(open: (sealed: Buffer) => Buffer): (sealed: Buffer) => Buffer {
  const keys = new Map<string, Buffer>();
  return sealed => {
    const name = sealed.toString('latin1');
    let key = keys.get(name);
    if (!key) {
      key = open(sealed);
      if (keys.size >= maxCachedKeys) keys.clear();
      keys.set(name, key);
    }
    return key;
  };
}

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
function signMessage(keys: readonly Buffer[], { id, sentAt, body }: SignedMessage): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = keys.map(
    key => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
