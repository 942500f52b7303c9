import { z } from 'zod';
import { defaultEventTypes, type EventType, eventTypes } from './events.ts';
import { Id } from './identifiers.ts';
import { maxPendingCounted } from './limits.ts';
import { listOf } from './pagination.ts';
import { line, Timestamp, text, userText } from './text.ts';

const webhookExample = {
  id: 9,
  url: 'https://hooks.example.com/ideas',
  description: 'Release notes',
  event_types: ['idea.created', 'idea.status_changed'],
  state: 'enabled' as const,
  disabled_reason: null,
  failing_since: null,
  previous_secret_expires_at: null,
  pending_count: 0,
  token_id: 5,
  created_at: '2026-03-20T08:58:12.410Z',
};

export const Webhook = z
  .object({
    id: Id,
    url: z.string().describe('The URL that gets the events.'),
    description: userText.describe('The purpose of the webhook, for people.'),
    event_types: z
      .array(z.string())
      .describe(
        'The types of events that the webhook gets. An empty list means all types but `idea.voted`. Only webhooks that people create in the admin area can have an empty list.',
      ),
    state: z
      .enum(['enabled', 'failing', 'disabled'])
      .describe(
        '`failing`: the last attempt failed, and the server still sends events. `disabled`: the webhook gets no events.',
      ),
    disabled_reason: z.string().nullable().describe('Why the webhook is disabled; null if it is not disabled.'),
    failing_since: Timestamp.nullable().describe(
      'When the first attempt after the last success failed; null if none has failed since then.',
    ),
    previous_secret_expires_at: Timestamp.nullable().describe(
      'Until when the server also signs with the previous secret; null without a previous secret.',
    ),
    pending_count: z
      .int()
      .min(0)
      .max(maxPendingCounted)
      .describe(`The number of pending deliveries. The server counts at most ${maxPendingCounted}.`),
    token_id: Id.nullable().describe('The token that created the webhook; null if a person created it.'),
    created_at: Timestamp.describe('When the webhook was created.'),
  })
  .meta({
    title: 'Webhook',
    description:
      'A webhook: a URL that gets events of the board. This object does not contain the secret of the webhook.',
    examples: [webhookExample],
  });

export const WebhookWithSecret = Webhook.extend({
  secret: z
    .string()
    .nullable()
    .describe(
      'The new secret, which signs deliveries. The server shows it only once: in the response to a repeated request with the same `Idempotency-Key`, it is null.',
    ),
}).meta({
  title: 'WebhookWithSecret',
  description: 'A webhook with its new secret.',
  examples: [{ ...webhookExample, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' }],
});

export const WebhookList = listOf(Webhook, 'WebhookList', 'A page of webhooks, newest first.', {
  data: [webhookExample],
  page: 1,
  per_page: 20,
  has_more: false,
  next_cursor: null,
});

const fields = {
  url: text(1, 2_000).describe('An http or https URL. By default, the server refuses URLs with private IP addresses.'),
  description: line(0, 200).describe('The purpose of the webhook, for people.'),
  event_types: z
    .array(z.enum(eventTypes as [EventType, ...EventType[]]))
    .min(1)
    .max(eventTypes.length),
};

export const WebhookInput = z
  .strictObject({
    url: fields.url,
    description: fields.description.optional(),
    event_types: fields.event_types
      .optional()
      .describe(
        `The types of events that the webhook gets. By default, the server stores the types that exist now, without \`idea.voted\`: ${defaultEventTypes.map(type => `\`${type}\``).join(', ')}.`,
      ),
  })
  .meta({
    title: 'WebhookInput',
    description: 'The webhook to create.',
    examples: [
      {
        url: webhookExample.url,
        description: webhookExample.description,
        event_types: ['idea.created', 'idea.status_changed'],
      },
    ],
  });

export const WebhookEdit = z
  .strictObject({
    url: fields.url.optional(),
    description: fields.description.optional(),
    event_types: fields.event_types.optional().describe('The types of events that the webhook gets from now on.'),
    enabled: z
      .boolean()
      .optional()
      .describe('`false` disables the webhook, and its pending deliveries become `dead`. `true` enables it again.'),
  })
  .meta({
    title: 'WebhookEdit',
    description: 'The changes of a webhook. Omitted fields stay unchanged.',
    examples: [{ enabled: true }],
  });

const deliveryExample = {
  id: 1041,
  event_id: 'evt_08d9ad1c-6b3a-4f0c-9c3b-5a1f7a0f3c55',
  type: 'idea.created',
  state: 'delivered' as const,
  attempt_count: 1,
  created_at: '2026-03-20T09:00:00.000Z',
  next_attempt_at: null,
  finished_at: '2026-03-20T09:00:00.184Z',
  last_attempt: { attempted_at: '2026-03-20T09:00:00.061Z', duration_ms: 112, status: 204, error: null },
};

/** The states of a delivery. */
export const DeliveryState = z.enum(['pending', 'delivered', 'dead']);

export const WebhookDelivery = z
  .object({
    id: Id,
    event_id: z.string().describe('The id of the event. Deliveries have it in the header `webhook-id`.'),
    type: z.string().describe('The type of the event. A test event has the type `webhook.test`.'),
    state: DeliveryState.describe(
      '`pending`: the server will make an attempt. `dead`: the server makes no further attempt by itself.',
    ),
    attempt_count: z.int().min(0).describe('The number of attempts since the creation or the last redelivery.'),
    created_at: Timestamp.describe('When the delivery was created.'),
    next_attempt_at: Timestamp.nullable().describe(
      'The earliest time of the next attempt; null if the delivery is not pending.',
    ),
    finished_at: Timestamp.nullable().describe(
      'When the delivery was delivered or became dead; null if it is pending.',
    ),
    last_attempt: z
      .object({
        attempted_at: Timestamp.describe('When the attempt began.'),
        duration_ms: z.int().min(0).describe('The duration in milliseconds.'),
        status: z.int().nullable().describe('The HTTP status of the response; null if there was no response.'),
        error: z.string().nullable().describe('Why there was no response; null if there was one.'),
      })
      .nullable()
      .describe('The last attempt; null before the first attempt.'),
  })
  .meta({
    title: 'WebhookDelivery',
    description: 'The delivery of an event to a webhook.',
    examples: [deliveryExample],
  });

export const WebhookDeliveryList = z
  .object({
    data: z.array(WebhookDelivery).describe('The deliveries, newest first.'),
    has_more: z.boolean().describe('Whether there is a next page.'),
    next_cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
  })
  .meta({
    title: 'WebhookDeliveryList',
    description:
      'A page of deliveries, newest first. With the state `delivered`, a page can be empty although there is a next page.',
    examples: [{ data: [deliveryExample], has_more: false, next_cursor: null }],
  });
