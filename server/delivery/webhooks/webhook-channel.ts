import { createHmac } from 'node:crypto';
import { writeEvent } from '../../domain/events/recorded-event.ts';
import { SecretBoxError } from '../../domain/secret-box.ts';
import { secretPurpose, signingKey } from '../../domain/webhooks/webhook-secret.ts';
import { type Channel, post } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import type { DueDelivery } from './pending-deliveries.ts';

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

  /** After a change of APP_KEY, the previous secret cannot be opened. A rotated secret must work all the same. */
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
    async send({ url, secret, previous_secret, event_id, ...event }, signal) {
      const now = clock.now();
      const body = writeEvent(event);
      const keys = [keyOf(secret), previous_secret && keyUnlessLost(previous_secret)].filter(key => key != null);
      const signature = signMessage(keys, { id: `evt_${event_id}`, sentAt: now, body });
      const headers = { 'content-type': 'application/json', ...signature };
      return post(requests, { url, headers, body, receiver: 'The endpoint', goneStatuses: [gone], now }, signal);
    },
  };
}

/** Caches opened keys, because it costs more to open a secret than to sign with it. */
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

interface MessageToSign {
  /** The same at every try of a message. A receiver recognizes a duplicate by it. */
  id: string;
  /** The time of this try. A receiver may refuse an old one. */
  sentAt: Date;
  body: string;
}

/**
 * Returns the headers of a message, as Standard Webhooks specifies them: an HMAC-SHA-256 over the id, the time and the
 * body for each valid secret.
 */
function signMessage(keys: readonly Buffer[], { id, sentAt, body }: MessageToSign): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = keys.map(
    key => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
