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

const timeoutMs = 10_000;

/** Delivers events to the webhook receivers of a test. Makes one attempt for each event and receiver. */
export class Deliveries {
  readonly #receivers: { url: string; secret: string }[] = [];
  readonly #finished: Delivery[] = [];
  readonly #closing = new AbortController();
  /** The deliveries run one after the other, so that a receiver gets the events in their order. */
  #running: Promise<void> = Promise.resolve();

  /** Adds a receiver. Returns the secret that signs its webhooks. */
  add(url: string): string {
    const secret = `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
    this.#receivers.push({ url: new URL(url).href, secret });
    return secret;
  }

  send(event: EventBody, id: string) {
    for (const { url, secret } of this.#receivers) {
      this.#running = this.#running.then(async () => {
        const status = await this.#post(url, await signWebhook(event, secret, { id }));
        this.#finished.push({ url, id, type: event.type, status });
      });
    }
  }

  /** Waits until all delivery attempts so far have ended. Returns the attempts in their order. */
  async finished(): Promise<readonly Delivery[]> {
    await this.#running;
    return [...this.#finished];
  }

  /** Aborts the delivery attempts that still run. */
  close(): Promise<void> {
    this.#closing.abort();
    return this.#running;
  }

  async #post(url: string, signed: { headers: Record<string, string>; body: string }): Promise<number | undefined> {
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
