import { createHmac } from 'node:crypto';
import { writeEvent } from '../../domain/events/recorded-event.ts';
import { SecretBoxError } from '../../domain/secret-box.ts';
import { secretPurpose, signingKey } from '../../domain/webhooks/webhook-secret.ts';
import { activeSpan } from '../../observability/active-span.ts';
import { type Channel, post } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import type { DueDelivery } from './pending-deliveries.ts';

/** An endpoint answers with this HTTP status if it wants no more deliveries (Standard Webhooks). */
const gone = 410;
const maxCachedKeys = 1_000;

/** Builds the channel that posts deliveries. Each delivery is signed with every valid secret of its endpoint. */
export function buildWebhookChannel({
  requests,
  secretBox,
  clock,
  config,
}: Pick<TaskDependencies, 'requests' | 'secretBox' | 'clock' | 'config'>): Channel<DueDelivery> {
  const keyOf = cacheKeys(sealed => signingKey(secretBox.open(sealed, secretPurpose)));

  /**
   * Decrypts the endpoint's previous secret. Returns undefined if that fails, for example because APP_KEY has changed.
   */
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
      const body = writeEvent(event, config);
      const keys = [keyOf(secret), previous_secret && keyUnlessLost(previous_secret)].filter(key => key != null);
      const signature = signMessage(keys, { id: `evt_${event_id}`, sentAt: now, body });
      const span = activeSpan();
      const headers = {
        'content-type': 'application/json',
        ...(span && { traceparent: span.traceparent }),
        ...signature,
      };
      return post(requests, { url, headers, body, receiver: 'The endpoint', goneStatuses: [gone], now }, signal);
    },
  };
}

/** Caches the decrypted keys, because decrypting a secret takes longer than signing with it. */
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
  /** The id of the message. It is the same at every try, so that a receiver can recognize duplicates. */
  id: string;
  /** The time of this try. A receiver may refuse a message with an old time. */
  sentAt: Date;
  body: string;
}

/** Returns the headers of Standard Webhooks, with one HMAC-SHA-256 of id, time and body for each valid secret. */
function signMessage(keys: readonly Buffer[], { id, sentAt, body }: MessageToSign): Record<string, string> {
  const timestamp = String(Math.floor(sentAt.getTime() / 1000));
  const signatures = keys.map(
    key => `v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`,
  );
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signatures.join(' ') };
}
