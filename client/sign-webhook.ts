import { checkOptions } from './check-options.ts';
import type { EventBody } from './contract.ts';
import { importKeys, signedBytes, type WebhookSecret } from './webhook-signature.ts';

export interface SignOptions {
  /** The id of the event, for the header `webhook-id`. The default is a new id. */
  id?: string | undefined;
  /** The time of the delivery, for the header `webhook-timestamp`. The default is the current time. */
  timestamp?: Date | undefined;
}

/** A signed webhook. Pass the signed webhook to `fetch` with the method POST, or to the receiver under test. */
export interface SignedWebhook {
  headers: Record<'content-type' | 'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>;
  body: string;
}

/**
 * Signs a webhook in the same way as the server, for tests of your receiver:
 *
 * ```ts
 * await fetch(receiverUrl, { method: 'POST', ...(await signWebhook(event, secret)) });
 * ```
 *
 * With several secrets, as during a rotation, the webhook has several signatures. If `event` is a string, the function
 * signs exactly this string.
 */
export async function signWebhook(
  event: EventBody | { type: string } | string,
  secret: WebhookSecret | undefined,
  options: SignOptions = {},
): Promise<SignedWebhook> {
  checkOptions(options, ['id', 'timestamp']);
  const { id = `evt_${crypto.randomUUID()}`, timestamp = new Date() } = options;
  const body = typeof event === 'string' ? event : JSON.stringify(event);
  const seconds = String(Math.floor(timestamp.getTime() / 1000));
  const message = signedBytes(id, seconds, new TextEncoder().encode(body));
  const keys = await importKeys(secret, 'sign');
  const signatures = await Promise.all(
    keys.map(async key => encodeBase64(await crypto.subtle.sign('HMAC', key, message))),
  );
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': seconds,
      'webhook-signature': signatures.map(signature => `v1,${signature}`).join(' '),
    },
    body,
  };
}

function encodeBase64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}
