import type {
  Deletion,
  EventBody,
  ListWebhookDeliveriesQuery,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookEdit,
  WebhookInput,
  WebhookWithSecret,
} from '@idea-board/client';
import { defaultEventTypes, defaultOverlapHours, eventTypes, maxWebhooks } from '@idea-board/contract';
import type { Deliveries } from './deliveries.ts';
import { pageOf } from './lists.ts';
import { Refusal } from './refusal.ts';

interface StoredWebhook {
  webhook: Webhook;
  secret: string;
  previousSecret: string | undefined;
  deliveries: StoredDelivery[];
}

interface StoredDelivery {
  delivery: WebhookDelivery;
  event: EventBody;
}

/** The webhooks of a test server. */
export class Webhooks {
  #webhooks: StoredWebhook[] = [];
  readonly #deliveries: Deliveries;
  #lastId = 0;

  constructor(deliveries: Deliveries) {
    this.#deliveries = deliveries;
  }

  /** Adds a webhook for all types of events, as a person does on a web page. Returns the webhook's secret. */
  add(url: string): string {
    return this.#store({ url, event_types: eventTypes }, null).secret;
  }

  create(input: WebhookInput, tokenId: number): WebhookWithSecret {
    if (this.#webhooks.length >= maxWebhooks) throw new Refusal('too_many_webhooks');
    checkUrl(input.url);
    const { webhook, secret } = this.#store(input, tokenId);
    return { ...webhook, secret };
  }

  list(): Webhook[] {
    return this.#webhooks.map(presentWebhook);
  }

  get(id: number): Webhook {
    return presentWebhook(this.#find(id));
  }

  update(id: number, { enabled, ...edit }: WebhookEdit): Webhook {
    const stored = this.#find(id);
    if (edit.url !== undefined) checkUrl(edit.url);
    Object.assign(stored.webhook, Object.fromEntries(Object.entries(edit).filter(([, value]) => value !== undefined)));
    if (enabled === true)
      Object.assign(stored.webhook, { state: 'enabled', disabled_reason: null, failing_since: null });
    if (enabled === false && stored.webhook.state !== 'disabled') disable(stored, 'Disabled with an API token');
    return presentWebhook(stored);
  }

  delete(id: number): Deletion {
    const stored = this.#find(id);
    this.#webhooks = this.#webhooks.filter(one => one !== stored);
    return { id, deleted: true };
  }

  rotate(id: number, overlapHours = defaultOverlapHours): WebhookWithSecret {
    const stored = this.#find(id);
    stored.previousSecret = overlapHours > 0 ? stored.secret : undefined;
    stored.webhook.previous_secret_expires_at =
      overlapHours > 0 ? new Date(Date.now() + overlapHours * 3_600_000).toISOString() : null;
    stored.secret = newSecret();
    return { ...presentWebhook(stored), secret: stored.secret };
  }

  test(id: number, eventId: string): WebhookDelivery {
    const stored = this.#findEnabled(id);
    const event = { type: 'webhook.test' as const, timestamp: new Date().toISOString(), data: { endpoint_id: id } };
    return this.#deliver(stored, event, eventId);
  }

  listDeliveries(id: number, query: ListWebhookDeliveriesQuery): WebhookDeliveryList {
    const { state } = query;
    const found = this.#find(id).deliveries.filter(({ delivery }) => state === undefined || delivery.state === state);
    const entries = found.map(({ delivery }) => structuredClone(delivery));
    const { data, has_more, next_cursor } = pageOf(entries, query, {
      sort: `deliveries:${state ?? 'all'}`,
      isDescending: true,
      placeOf: delivery => [0, delivery.id],
    });
    return { data, has_more, next_cursor };
  }

  redeliver(id: number, deliveryId: number): WebhookDelivery {
    const stored = this.#findEnabled(id);
    const found = stored.deliveries.find(({ delivery }) => delivery.id === deliveryId);
    if (!found) throw new Refusal('not_found');
    Object.assign(found.delivery, {
      state: 'pending',
      attempt_count: 0,
      next_attempt_at: new Date().toISOString(),
      finished_at: null,
    });
    return this.#attempt(stored, found);
  }

  /** Sends an event to the webhooks that are subscribed to its type. */
  send(event: EventBody, eventId: string) {
    for (const stored of this.#webhooks) {
      const { state, event_types } = stored.webhook;
      if (state !== 'disabled' && event_types.includes(event.type)) this.#deliver(stored, event, eventId);
    }
  }

  sendToAll(event: EventBody, eventId: string) {
    for (const stored of this.#webhooks) this.#deliver(stored, event, eventId);
  }

  #store({ url, description = '', event_types = defaultEventTypes }: WebhookInput, tokenId: number | null) {
    const stored: StoredWebhook = {
      webhook: {
        id: this.#nextId(),
        url: url.trim(),
        description,
        event_types: [...new Set(event_types)],
        state: 'enabled',
        disabled_reason: null,
        failing_since: null,
        previous_secret_expires_at: null,
        pending_count: 0,
        token_id: tokenId,
        created_at: new Date().toISOString(),
      },
      secret: newSecret(),
      previousSecret: undefined,
      deliveries: [],
    };
    this.#webhooks.push(stored);
    return stored;
  }

  #find(id: number): StoredWebhook {
    const stored = this.#webhooks.find(({ webhook }) => webhook.id === id);
    if (!stored) throw new Refusal('not_found');
    return stored;
  }

  #findEnabled(id: number): StoredWebhook {
    const stored = this.#find(id);
    if (stored.webhook.state === 'disabled') throw new Refusal('webhook_disabled');
    return stored;
  }

  #deliver(stored: StoredWebhook, event: EventBody, eventId: string): WebhookDelivery {
    const now = new Date().toISOString();
    const delivery: WebhookDelivery = {
      id: this.#nextId(),
      event_id: eventId,
      type: event.type,
      state: 'pending',
      attempt_count: 0,
      created_at: now,
      next_attempt_at: now,
      finished_at: null,
      last_attempt: null,
    };
    const made = { delivery, event };
    stored.deliveries.push(made);
    return this.#attempt(stored, made);
  }

  /**
   * Schedules a delivery attempt. The test server never retries a delivery. Returns a copy of the delivery from before
   * the attempt.
   */
  #attempt(stored: StoredWebhook, { delivery, event }: StoredDelivery): WebhookDelivery {
    const { webhook } = stored;
    const before = structuredClone(delivery);
    this.#deliveries.post(event, delivery.event_id, {
      // `target` and `isDue` read the webhook only when the attempt begins. Until then, somebody may change the
      // webhook's URL or secret, disable the webhook or delete it.
      target: () => ({ url: webhook.url, secret: secretsOf(stored) }),
      isDue: () => delivery.state === 'pending' && this.#webhooks.includes(stored),
      done: (status, attemptedAt) => {
        const isDelivered = status !== undefined && status >= 200 && status < 300;
        Object.assign(delivery, {
          state: isDelivered ? 'delivered' : 'dead',
          attempt_count: delivery.attempt_count + 1,
          next_attempt_at: null,
          finished_at: new Date().toISOString(),
          last_attempt: {
            attempted_at: attemptedAt.toISOString(),
            duration_ms: Date.now() - attemptedAt.getTime(),
            status: status ?? null,
            error: status === undefined ? 'The receiver did not answer' : null,
          },
        });
        if (webhook.state === 'disabled') return;
        webhook.failing_since = isDelivered ? null : (webhook.failing_since ?? attemptedAt.toISOString());
        webhook.state = isDelivered ? 'enabled' : 'failing';
        if (status === 410) disable(stored, 'The endpoint answered 410 Gone');
      },
    });
    return before;
  }

  #nextId(): number {
    this.#lastId += 1;
    return this.#lastId;
  }
}

function presentWebhook({ webhook, deliveries }: StoredWebhook): Webhook {
  const pending = deliveries.filter(({ delivery }) => delivery.state === 'pending');
  return { ...structuredClone(webhook), pending_count: pending.length };
}

/** Returns the secrets that currently sign deliveries, the newest secret first. */
function secretsOf({ webhook, secret, previousSecret }: StoredWebhook): string[] {
  const isValid = Date.now() < Date.parse(webhook.previous_secret_expires_at ?? '');
  return previousSecret !== undefined && isValid ? [secret, previousSecret] : [secret];
}

function disable({ webhook, deliveries }: StoredWebhook, reason: string) {
  Object.assign(webhook, { state: 'disabled', disabled_reason: reason });
  for (const { delivery } of deliveries) {
    if (delivery.state !== 'pending') continue;
    Object.assign(delivery, { state: 'dead', next_attempt_at: null, finished_at: new Date().toISOString() });
  }
}

/** Accepts every http and https URL, because the receivers of tests are on the local machine. */
function checkUrl(url: string) {
  const protocol = URL.canParse(url) ? new URL(url).protocol : '';
  if (['http:', 'https:'].includes(protocol)) return;
  const issue = { path: ['body', 'url'], code: 'custom', message: 'Must be an http or https URL' };
  throw new Refusal('validation_failed', { issues: [issue] });
}

function newSecret(): string {
  return `whsec_${btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(32))))}`;
}
