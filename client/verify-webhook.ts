import { checkOptions } from './check-options.ts';
import { type EventBody, eventTypes } from './contract.ts';
import { type WebhookErrorKey, WebhookVerificationError } from './errors.ts';
import { decodeBase64, importKeys, type SigningKey, signedBytes, type WebhookSecret } from './webhook-signature.ts';

/** The event of a webhook. If your program checks `type`, TypeScript knows the fields of this type of event. */
export type WebhookEvent = Identified<EventBody> | UnknownWebhookEvent;

type Identified<Body> = Body extends unknown ? Body & WebhookId : never;

interface WebhookId {
  /**
   * The id from the header `webhook-id`. The id stays the same at every retry, so that a receiver can skip duplicates.
   */
  id: string;
}

/** A verified event of a type that this version of the package does not know. A newer server may send such an event. */
export interface UnknownWebhookEvent extends WebhookId {
  type: 'unknown';
  /** The parsed body of the webhook. */
  body: { type: string; [field: string]: unknown };
}

/**
 * The headers of a webhook: a `Headers` object, Node's headers, or a plain object with names in upper or lower case.
 */
export type WebhookHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /**
   * The maximum difference between the timestamp of the webhook and the local clock, in seconds. The default is 300.
   */
  toleranceSeconds?: number | undefined;
}

const defaultToleranceSeconds = 300;

/**
 * Verifies a webhook according to Standard Webhooks and returns its event. Pass the unparsed body, because the
 * signature covers its bytes. During a rotation, pass both the new and the previous secret. Throws a
 * WebhookVerificationError whose `key` names the reason. Throws a ConfigurationError if the secret is missing or
 * invalid. The fault is then in your program, and not in the webhook.
 */
export async function verifyWebhook(
  payload: string | Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secret: WebhookSecret | undefined,
  options: VerifyOptions = {},
): Promise<WebhookEvent> {
  checkOptions(options, ['toleranceSeconds']);
  const { toleranceSeconds = defaultToleranceSeconds } = options;
  const keys = await importKeys(secret, 'verify');
  const bytes = bytesOf(payload);
  const id = requireHeader(headers, 'webhook-id');
  const timestamp = requireHeader(headers, 'webhook-timestamp');
  const signatures = requireHeader(headers, 'webhook-signature');

  const ageSeconds = Date.now() / 1000 - (/^\d+$/.test(timestamp) ? Number(timestamp) : Number.NaN);
  if (!(Math.abs(ageSeconds) <= toleranceSeconds)) {
    throw verificationError(
      'timestamp_out_of_tolerance',
      `The webhook-timestamp differs from now by more than ${toleranceSeconds} s`,
    );
  }
  if (!(await isSigned(signedBytes(id, timestamp, bytes), signatures, keys))) {
    throw verificationError('signature_mismatch', 'No signature matches: the secret is wrong, or the body was changed');
  }
  return eventOf(id, bytes);
}

/**
 * Returns the bytes of a payload. Does not use `instanceof`, because a test runner or a worker may have its own copies
 * of the classes.
 */
function bytesOf(payload: unknown): Uint8Array {
  if (typeof payload === 'string') return new TextEncoder().encode(payload);
  if (ArrayBuffer.isView(payload)) return new Uint8Array(payload.buffer, payload.byteOffset, payload.byteLength);
  if (String(payload) === '[object ArrayBuffer]') return new Uint8Array(payload as ArrayBuffer);
  throw verificationError('malformed_payload', 'The payload must be the unparsed body, as text or bytes');
}

function requireHeader(headers: WebhookHeaders, name: string): string {
  const value = typeof headers.get === 'function' ? headers.get(name) : fieldOf(headers as PlainHeaders, name);
  if (typeof value !== 'string' || value === '')
    throw verificationError('missing_header', `The header ${name} is missing`);
  return value;
}

type PlainHeaders = Exclude<WebhookHeaders, { get(name: string): string | null }>;

function fieldOf(headers: PlainHeaders, name: string): string | undefined {
  const value = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof value === 'object' ? value[0] : value;
}

/** Whether one of the signatures was made with one of the keys. The runtime compares signatures in constant time. */
async function isSigned(message: ArrayBuffer, signatures: string, keys: SigningKey[]) {
  const candidates = signatures
    .split(' ')
    .filter(signature => signature.startsWith('v1,'))
    .map(signature => decodeBase64(signature.slice(3)));
  for (const key of keys) {
    for (const candidate of candidates) {
      if (candidate && (await crypto.subtle.verify('HMAC', key, candidate, message))) return true;
    }
  }
  return false;
}

function eventOf(id: string, bytes: Uint8Array): WebhookEvent {
  let body: UnknownWebhookEvent['body'];
  try {
    body = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw verificationError('malformed_payload', 'The signed body is not JSON', cause);
  }
  if (typeof body?.type !== 'string') throw verificationError('malformed_payload', 'The signed body is not an event');
  const isKnown = (eventTypes as readonly string[]).includes(body.type);
  return isKnown ? { ...(body as unknown as EventBody), id } : { type: 'unknown', id, body };
}

function verificationError(key: WebhookErrorKey, message: string, ...cause: unknown[]): WebhookVerificationError {
  return new WebhookVerificationError({ key, message, ...(cause.length > 0 ? { cause: cause[0] } : {}) });
}
