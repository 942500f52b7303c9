import { SecretBoxError } from '../domain/secret-box.ts';
import { activeSpan, runInSpan, type SpanAttributes } from '../observability/active-span.ts';
import type { Metrics } from '../observability/metrics.ts';
import { type OutgoingAnswer, OutgoingRequestError, type OutgoingRequests } from '../outgoing/outgoing-request.ts';

/**
 * The outcome of one try to deliver an item. An item is a webhook delivery, a chat message or a mail. `reason` explains
 * a failure to the people who manage the webhook or chat channel.
 */
export type Outcome = (
  | { result: 'delivered' }
  /**
   * The receiver refuses the item for good, so the server must not send the item again. For example, the receiver
   * answered 410.
   */
  | { result: 'refused'; reason: string }
  | { result: 'failed'; reason: string; retryAfterMs?: number | undefined }
) & {
  /** The HTTP answer of the receiver. Undefined if the receiver did not answer, or the channel is mail. */
  answer?: OutgoingAnswer;
};

/** A way to deliver items: webhooks, chats or mail. */
export interface Channel<Item> {
  readonly name: Parameters<Metrics['countDelivery']>[0];
  /**
   * Tries once to deliver an item. Throws if no HTTP answer arrives, if a secret cannot be decrypted, if the worker
   * stops, or if no mail can be sent now.
   */
  send(item: Item, signal?: AbortSignal): Promise<Outcome>;
}

interface DeliverOptions {
  metrics?: Metrics | undefined;
  signal?: AbortSignal | undefined;
  /** The span of the request that caused the item. */
  traceparent?: string | undefined;
  attributes?: SpanAttributes;
}

/**
 * Tries once to deliver an item. Records the result in the metrics, unless the worker stops. Returns `failed` if the
 * HTTP request or a decryption fails. Throws the channel's other errors. In a traced job, the attempt is a span in the
 * trace of the request that caused the item. Without `traceparent`, the span is in the trace of the job.
 */
export async function deliver<Item>(
  channel: Channel<Item>,
  item: Item,
  { metrics, signal, traceparent, attributes = {} }: DeliverOptions = {},
): Promise<Outcome & { durationMs: number }> {
  const span = activeSpan()?.start(`deliver ${channel.name}`, { kind: 'client', parent: traceparent, attributes });
  const startedAt = performance.now();
  const count = (result: 'delivered' | 'failed') => {
    const durationMs = performance.now() - startedAt;
    metrics?.countDelivery(channel.name, result, durationMs);
    return durationMs;
  };
  try {
    const outcome = await runInSpan(span, () => channel.send(item, signal)).catch(failureOf);
    span?.set({ 'http.response.status_code': outcome.answer?.status });
    span?.end(outcome.result === 'delivered' ? undefined : outcome.result);
    return { ...outcome, durationMs: count(outcome.result === 'delivered' ? 'delivered' : 'failed') };
  } catch (error) {
    span?.end('failed');
    if (!signal?.aborted) count('failed');
    throw error;
  }
}

function failureOf(error: unknown): Outcome {
  if (!(error instanceof OutgoingRequestError) && !(error instanceof SecretBoxError)) throw error;
  return { result: 'failed', reason: error.message };
}

interface Post {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** The name of the receiver in error messages, such as `The chat`. */
  receiver: string;
  /** The HTTP statuses that give the outcome `refused`, such as 410 Gone. */
  goneStatuses: readonly number[];
  now: Date;
}

/** Posts an item to a receiver. Throws an OutgoingRequestError if there is no answer. */
export async function post(
  requests: OutgoingRequests,
  { url, headers, body, receiver, goneStatuses, now }: Post,
  signal: AbortSignal | undefined,
): Promise<Outcome> {
  const answer = await requests.post(url, { headers, body, signal });
  const { status, retryAfter } = answer;
  if (status >= 200 && status < 300) return { result: 'delivered', answer };
  const reason = `${receiver} answered ${status}`;
  if (goneStatuses.includes(status)) return { result: 'refused', reason, answer };
  return { result: 'failed', reason, retryAfterMs: parseRetryAfter(retryAfter, now), answer };
}

/**
 * Converts a Retry-After header (a date or seconds, RFC 9110, 10.2.3) to milliseconds. Discord sends fractions of a
 * second.
 */
function parseRetryAfter(value: string | undefined, now: Date): number | undefined {
  if (value === undefined) return undefined;
  if (/^\d{1,9}(\.\d+)?$/.test(value)) return Math.ceil(Number(value) * 1000);
  const time = Date.parse(value);
  return Number.isNaN(time) ? undefined : Math.max(0, time - now.getTime());
}
