import { type EventBody, signWebhook } from '@idea-board/client';

/** One attempt to deliver an event to a webhook receiver. */
export interface Delivery {
  url: string;
  /** The id in the header `webhook-id`. */
  id: string;
  type: EventBody['type'];
  /** The status of the receiver's response, or undefined if the receiver did not answer. */
  status: number | undefined;
}

interface Attempt {
  /** Is called when the attempt begins. Returns the webhook's URL and secrets at that time. */
  target(): { url: string; secret: string[] };
  /** Is called when the attempt begins. Returns whether the delivery is still pending at that time. */
  isDue(): boolean;
  done(status: number | undefined, attemptedAt: Date): void;
}

const timeoutMs = 10_000;

/** Makes the delivery attempts of a test server. */
export class Deliveries {
  readonly #finished: Delivery[] = [];
  readonly #closing = new AbortController();
  /** The deliveries run one after the other, so that a receiver gets the events in the order in which they happened. */
  #running: Promise<void> = Promise.resolve();

  /** Signs an event and sends it after the earlier events. */
  post(event: EventBody, id: string, { target, isDue, done }: Attempt) {
    this.#running = this.#running.then(async () => {
      if (!isDue()) return;
      const { url, secret } = target();
      const attemptedAt = new Date();
      const status = await this.#send(url, await signWebhook(event, secret, { id }));
      done(status, attemptedAt);
      this.#finished.push({ url, id, type: event.type, status });
    });
  }

  /**
   * Waits for the end of all delivery attempts that have been requested so far. Returns these attempts, oldest first.
   */
  async finished(): Promise<readonly Delivery[]> {
    await this.#running;
    return [...this.#finished];
  }

  /** Aborts the delivery attempts that still run. */
  close(): Promise<void> {
    this.#closing.abort();
    return this.#running;
  }

  async #send(url: string, signed: { headers: Record<string, string>; body: string }): Promise<number | undefined> {
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(timeoutMs)]);
    try {
      const response = await fetch(url, { method: 'POST', redirect: 'manual', signal, ...signed });
      await response.body?.cancel();
      return response.status;
    } catch {
      return undefined;
    }
  }
}
