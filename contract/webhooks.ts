import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Deletion } from './ideas.ts';
import { PathId } from './identifiers.ts';
import { defaultOverlapHours, maxOverlapHours, maxWebhooks } from './limits.ts';
import { onePlace, pagination, queryInteger } from './pagination.ts';
import {
  BoardParameter,
  BoardQuery,
  ConditionalHeaders,
  c,
  IdempotencyHeaders,
  noBody,
  notModified,
  type RouteMetadata,
} from './routes.ts';
import {
  DeliveryState,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryList,
  WebhookEdit,
  WebhookInput,
  WebhookList,
  WebhookWithSecret,
} from './webhook.ts';

const access = { tag: 'Webhooks', auth: 'board', grant: 'read', capability: 'manage_webhooks' } as const;
const reading = { ...access, bucket: 'apitoken:read' } as const;
const writing = { ...access, bucket: 'apitoken:write' } as const;

/** The error keys that are common to the read operations on webhooks, and to the write operations on webhooks. */
const readingKeys = [...raisedBy.onBoard, 'missing_capability'] as const;
const writingKeys = [...raisedBy.writing, 'missing_capability'] as const;

const WebhookPath = { webhookId: PathId.meta({ description: 'The id of the webhook.', examples: [9] }) };

const DeliveryPath = {
  ...WebhookPath,
  deliveryId: PathId.meta({ description: 'The id of a delivery of the webhook.', examples: [1041] }),
};

export const listWebhooks = c.query({
  method: 'GET',
  path: '/api/v1/webhooks',
  summary: 'List webhooks',
  description:
    'Returns the webhooks of the board, newest first. Webhooks of the whole account and of other boards are not in the list.',
  query: onePlace(z.strictObject({ ...BoardParameter, ...pagination })),
  headers: ConditionalHeaders,
  responses: { 200: WebhookList, ...notModified, ...raises(...readingKeys) },
  metadata: {
    ...reading,
    sdk: 'webhooks.list',
    tool: {
      name: 'list_webhooks',
      title: 'List webhooks',
      description:
        'Lists the webhooks of the board with their ids, URLs, types of events and states. It shows no secret.',
      resultFields: ['data', 'id', 'url', 'description', 'event_types', 'state', 'has_more', 'next_cursor'],
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const getWebhook = c.query({
  method: 'GET',
  path: '/api/v1/webhooks/:webhookId',
  summary: 'Get one webhook',
  description: 'Returns one webhook of the board, without its secret.',
  pathParams: z.object(WebhookPath),
  query: BoardQuery,
  headers: ConditionalHeaders,
  responses: { 200: Webhook, ...notModified, ...raises(...readingKeys, 'not_found') },
  metadata: {
    ...reading,
    sdk: 'webhooks.get',
    tool: {
      name: 'get_webhook',
      title: 'Get one webhook',
      description:
        'Returns one webhook: its URL, types of events, state and number of pending deliveries. It shows no secret. If the webhook is disabled, it says why.',
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const createWebhook = c.mutation({
  method: 'POST',
  path: '/api/v1/webhooks',
  summary: 'Create a webhook',
  description: `Creates a webhook of the board and returns its secret. The server shows the secret only once. An account has at most ${maxWebhooks} webhooks. The webhook belongs to the board: it stays if the token is revoked, expires or loses its grant.`,
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: WebhookInput,
  responses: { 201: WebhookWithSecret, ...raises(...writingKeys, ...raisedBy.idempotent, 'too_many_webhooks') },
  metadata: {
    ...writing,
    sdk: 'webhooks.create',
    tool: {
      name: 'create_webhook',
      title: 'Create a webhook',
      description:
        'Makes the server send events of the board to a URL. Use only a URL that the user gave you. The secret in the result signs the deliveries, and no later result shows it: give it to the user, and repeat it nowhere else.',
      resultFields: ['id', 'url', 'event_types', 'state', 'secret'],
      isDestructive: false,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const updateWebhook = c.mutation({
  method: 'PATCH',
  path: '/api/v1/webhooks/:webhookId',
  summary: 'Change a webhook',
  description:
    'Changes the URL, the description or the types of events of a webhook, or enables or disables it. Pending deliveries go to the new URL.',
  pathParams: z.object(WebhookPath),
  query: BoardQuery,
  body: WebhookEdit,
  responses: { 200: Webhook, ...raises(...writingKeys, 'not_found') },
  metadata: {
    ...writing,
    sdk: 'webhooks.update',
    tool: {
      name: 'update_webhook',
      title: 'Change a webhook',
      description:
        'Changes the URL, description or types of events of a webhook, or enables or disables it. Omitted arguments stay unchanged. Pending deliveries go to the new URL.',
      resultFields: ['id', 'url', 'event_types', 'state'],
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const deleteWebhook = c.mutation({
  method: 'DELETE',
  path: '/api/v1/webhooks/:webhookId',
  summary: 'Delete a webhook',
  description: 'Deletes a webhook and its deliveries. Nobody can restore them.',
  pathParams: z.object(WebhookPath),
  query: BoardQuery,
  body: noBody,
  responses: { 200: Deletion, ...raises(...writingKeys, 'not_found') },
  metadata: {
    ...writing,
    sdk: 'webhooks.delete',
    tool: {
      name: 'delete_webhook',
      title: 'Delete a webhook',
      description:
        'Deletes a webhook and its deliveries for good. Ask the user first. To stop a webhook for a time, use update_webhook with enabled false.',
      isDestructive: true,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const rotateWebhookSecret = c.mutation({
  method: 'POST',
  path: '/api/v1/webhooks/:webhookId/rotate-secret',
  summary: 'Rotate the secret of a webhook',
  description: `Replaces the secret of a webhook and returns the new secret. The server shows the new secret only once. For some hours, the server signs each delivery with both secrets.`,
  pathParams: z.object(WebhookPath),
  query: z.strictObject({
    ...BoardParameter,
    overlap_hours: queryInteger(0, maxOverlapHours)
      .optional()
      .describe(
        `For how many hours the previous secret also signs; ${defaultOverlapHours} by default. With 0, it expires at once.`,
      )
      .meta({ examples: [48] }),
  }),
  headers: IdempotencyHeaders,
  body: noBody,
  responses: { 200: WebhookWithSecret, ...raises(...writingKeys, ...raisedBy.idempotent, 'not_found') },
  metadata: {
    ...writing,
    sdk: 'webhooks.rotateSecret',
    tool: {
      name: 'rotate_webhook_secret',
      title: 'Rotate the secret of a webhook',
      description: `Replaces the secret of a webhook. The secret in the result signs the deliveries, and no later result shows it: give it to the user, and repeat it nowhere else. The previous secret also signs for ${defaultOverlapHours} hours. If it has leaked, use overlap_hours 0.`,
      resultFields: ['id', 'url', 'previous_secret_expires_at', 'secret'],
      isDestructive: true,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const testWebhook = c.mutation({
  method: 'POST',
  path: '/api/v1/webhooks/:webhookId/test',
  summary: 'Send a test event',
  description:
    'Sends an event `webhook.test` to a webhook, even if the webhook does not get this type. The response is the pending delivery. The list of deliveries shows its result.',
  pathParams: z.object(WebhookPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: noBody,
  responses: {
    201: WebhookDelivery,
    ...raises(...writingKeys, ...raisedBy.idempotent, 'not_found', 'webhook_disabled'),
  },
  metadata: {
    ...writing,
    sdk: 'webhooks.test',
    tool: {
      name: 'test_webhook',
      title: 'Send a test event',
      description:
        'Sends a test event to a webhook, to check its URL and its receiver. A few seconds later, list_webhook_deliveries shows the result.',
      resultFields: ['id', 'state'],
      isDestructive: false,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const listWebhookDeliveries = c.query({
  method: 'GET',
  path: '/api/v1/webhooks/:webhookId/deliveries',
  summary: 'List the deliveries of a webhook',
  description:
    'Returns the deliveries of a webhook, newest first. The server deletes events and their deliveries after 30 days, but not while a delivery is pending.',
  pathParams: z.object(WebhookPath),
  query: z.strictObject({
    ...BoardParameter,
    state: DeliveryState.optional()
      .describe('Returns only the deliveries in this state.')
      .meta({ examples: ['dead'] }),
    per_page: pagination.per_page,
    cursor: pagination.cursor,
  }),
  headers: ConditionalHeaders,
  responses: { 200: WebhookDeliveryList, ...notModified, ...raises(...readingKeys, 'not_found') },
  metadata: {
    ...reading,
    sdk: 'webhooks.deliveries',
    tool: {
      name: 'list_webhook_deliveries',
      title: 'List the deliveries of a webhook',
      description:
        'Lists the deliveries of a webhook, newest first, with the status or the error of the last attempt. state dead finds the failed ones.',
      resultFields: ['data', 'id', 'type', 'state', 'last_attempt', 'status', 'error', 'has_more', 'next_cursor'],
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const redeliverWebhookDelivery = c.mutation({
  method: 'POST',
  path: '/api/v1/webhooks/:webhookId/deliveries/:deliveryId/redeliver',
  summary: 'Redeliver an event',
  description:
    'Sends a delivery again, in any state. The delivery keeps its `webhook-id`, and the server counts its attempts from zero.',
  pathParams: z.object(DeliveryPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: noBody,
  responses: {
    200: WebhookDelivery,
    ...raises(...writingKeys, ...raisedBy.idempotent, 'not_found', 'webhook_disabled'),
  },
  metadata: {
    ...writing,
    sdk: 'webhooks.redeliver',
    tool: {
      name: 'redeliver_webhook_delivery',
      title: 'Redeliver an event',
      description:
        'Sends a delivery again with the same webhook-id. delivery_id is from list_webhook_deliveries. First make sure that the receiver works again.',
      resultFields: ['id', 'state'],
      isDestructive: false,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const webhookRoutes = {
  listWebhooks,
  getWebhook,
  createWebhook,
  updateWebhook,
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  listWebhookDeliveries,
  redeliverWebhookDelivery,
};
