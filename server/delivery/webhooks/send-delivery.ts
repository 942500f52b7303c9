import { writeEvent } from '../../domain/events/present-event.ts';
import { SecretBoxError } from '../../domain/secret-box.ts';
import { secretPurpose, signingKey } from '../../domain/webhooks/webhook-secret.ts';
import { OutgoingRequestError } from '../../outgoing/outgoing-request.ts';
import type { TaskDependencies } from '../dependencies.ts';
import type { DueDelivery, DueEndpoint } from './pending-deliveries.ts';
import type { Attempt } from './record-attempts.ts';
import { signMessage } from './signature.ts';

/** How much of an answer is kept. */
const keptCharacters = 4_096;
const maxCachedKeys = 1_000;

export interface SendResult {
  isDelivered: boolean;
  attempt: Attempt;
}

/** Builds what sends one delivery, signed, and says what came of it. It throws when the worker stops meanwhile. */
export function buildSender({
  requests,
  secretBox,
  clock,
  metrics,
}: Pick<TaskDependencies, 'requests' | 'secretBox' | 'clock' | 'metrics'>) {
  const keyOf = cacheKeys(sealed => signingKey(secretBox.open(sealed, secretPurpose)));

  function keysOf({ secret, previousSecret }: DueEndpoint): Buffer[] {
    const previousKey = previousSecret && keyUnlessLost(previousSecret);
    return previousKey ? [keyOf(secret), previousKey] : [keyOf(secret)];
  }

  /** Where the application key was changed, a rotation is what helps: a secret from before must not keep it from that. */
  function keyUnlessLost(sealed: Buffer): Buffer | undefined {
    try {
      return keyOf(sealed);
    } catch (error) {
      if (error instanceof SecretBoxError) return undefined;
      throw error;
    }
  }

  return async (delivery: DueDelivery, signal: AbortSignal | undefined, isProbe = false): Promise<SendResult> => {
    const result = await send(delivery, signal, isProbe);
    metrics?.countDelivery('webhook', result.isDelivered ? 'delivered' : 'failed', result.attempt.durationMs);
    return result;
  };

  async function send(delivery: DueDelivery, signal: AbortSignal | undefined, isProbe: boolean): Promise<SendResult> {
    const { endpoint } = delivery;
    const body = writeEvent(delivery.event);
    const startedAt = performance.now();
    const attemptedAt = clock.now();
    const attempt = (outcome: Pick<Attempt, 'status' | 'error' | 'response'>): Attempt => ({
      accountId: delivery.accountId,
      deliveryId: delivery.id,
      dueAt: delivery.dueAt,
      attemptedAt,
      durationMs: Math.round(performance.now() - startedAt),
      isProbe,
      ...outcome,
    });
    try {
      const signature = signMessage(keysOf(endpoint), { id: `evt_${delivery.eventId}`, sentAt: attemptedAt, body });
      const headers = { 'content-type': 'application/json', ...signature };
      const answer = await requests.post(endpoint.url, { headers, body, signal });
      const isDelivered = answer.status >= 200 && answer.status < 300;
      return {
        isDelivered,
        attempt: attempt({ status: answer.status, error: null, response: readable(answer.body) }),
      };
    } catch (error) {
      if (!(error instanceof OutgoingRequestError) && !(error instanceof SecretBoxError)) throw error;
      return { isDelivered: false, attempt: attempt({ status: null, error: error.message, response: null }) };
    }
  }
}

/** The beginning of an answer as text that PostgreSQL can store. */
function readable(body: Buffer): string | null {
  if (body.length === 0) return null;
  return body.toString('utf8', 0, keptCharacters).replaceAll('\0', '�');
}

/** Opening a secret costs more than signing with it, so those in use stay open. */
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
