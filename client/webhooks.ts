import type { Call, NotModified } from './call.ts';
import type { Caller } from './caller.ts';
import type {
  Deletion,
  ListWebhookDeliveriesQuery,
  ListWebhooksQuery,
  RotateWebhookSecretQuery,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookEdit,
  WebhookInput,
  WebhookList,
  WebhookWithSecret,
} from './contract.ts';
import { List } from './list.ts';
import type { CallOptions, ConditionalOptions, WriteOptions } from './options.ts';

/** The operations on the webhooks of a board. The token needs the capability `manage_webhooks`. */
export class Webhooks {
  readonly #caller: Caller;

  /** @internal */
  constructor(caller: Caller) {
    this.#caller = caller;
  }

  /**
   * Lists the webhooks of the board, newest first. Await the list for one page, or iterate over it for all webhooks. A
   * call with the option `etag` gets only one page.
   */
  list(query: ListWebhooksQuery | undefined, options: ConditionalOptions): Call<WebhookList | NotModified>;
  list(query?: ListWebhooksQuery, options?: CallOptions): List<Webhook, WebhookList>;
  list(
    query: ListWebhooksQuery = {},
    options: CallOptions = {},
  ): List<Webhook, WebhookList> | Call<WebhookList | NotModified> {
    const read = (page: ListWebhooksQuery) => this.#caller.call('listWebhooks', { query: page }, options);
    return 'etag' in options ? read(query) : new List(read, query);
  }

  /** Gets one webhook, without its secret. */
  get(webhookId: number, options: ConditionalOptions): Call<Webhook | NotModified>;
  get(webhookId: number, options?: CallOptions): Call<Webhook>;
  get(webhookId: number, options: CallOptions = {}) {
    return this.#caller.call('getWebhook', { params: { webhookId } }, options);
  }

  /**
   * Creates a webhook. Save its secret, because the server shows the secret only once. If the client had to repeat the
   * request, the secret can be null. In this case, rotate the secret.
   */
  create(webhook: WebhookInput, options?: WriteOptions): Call<WebhookWithSecret> {
    return this.#caller.call('createWebhook', { body: webhook }, options);
  }

  /**
   * Changes, enables or disables a webhook. Omitted fields stay unchanged. If the URL changes, the server also sends
   * pending deliveries to the new URL.
   */
  update(webhookId: number, edit: WebhookEdit, options?: CallOptions): Call<Webhook> {
    return this.#caller.call('updateWebhook', { params: { webhookId }, body: edit }, options);
  }

  /** Deletes a webhook and its deliveries. A repeated deletion fails with `not_found`. */
  delete(webhookId: number, options?: CallOptions): Call<Deletion> {
    return this.#caller.call('deleteWebhook', { params: { webhookId } }, options);
  }

  /**
   * Replaces the secret of a webhook. For the next 24 hours, or for `overlap_hours`, the server also signs with the
   * previous secret. If the client had to repeat the request, the new secret can be null. In this case, rotate the
   * secret again.
   */
  rotateSecret(
    webhookId: number,
    { overlap_hours, ...options }: WriteOptions & RotateWebhookSecretQuery = {},
  ): Call<WebhookWithSecret> {
    return this.#caller.call('rotateWebhookSecret', { params: { webhookId }, query: { overlap_hours } }, options);
  }

  /**
   * Sends a test event to a webhook. The result is the pending delivery. Call `deliveries` later to see whether the
   * delivery succeeded.
   */
  test(webhookId: number, options?: WriteOptions): Call<WebhookDelivery> {
    return this.#caller.call('testWebhook', { params: { webhookId } }, options);
  }

  /** Lists the deliveries of a webhook, newest first. A call with the option `etag` gets only one page. */
  deliveries(
    webhookId: number,
    query: ListWebhookDeliveriesQuery | undefined,
    options: ConditionalOptions,
  ): Call<WebhookDeliveryList | NotModified>;
  deliveries(
    webhookId: number,
    query?: ListWebhookDeliveriesQuery,
    options?: CallOptions,
  ): List<WebhookDelivery, WebhookDeliveryList>;
  deliveries(
    webhookId: number,
    query: ListWebhookDeliveriesQuery = {},
    options: CallOptions = {},
  ): List<WebhookDelivery, WebhookDeliveryList> | Call<WebhookDeliveryList | NotModified> {
    const read = (page: ListWebhookDeliveriesQuery) =>
      this.#caller.call('listWebhookDeliveries', { params: { webhookId }, query: page }, options);
    return 'etag' in options ? read(query) : new List(read, query);
  }

  /** Sends a delivery again. The delivery can have any state, and keeps its `webhook-id`. */
  redeliver(webhookId: number, deliveryId: number, options?: WriteOptions): Call<WebhookDelivery> {
    return this.#caller.call('redeliverWebhookDelivery', { params: { webhookId, deliveryId } }, options);
  }
}
