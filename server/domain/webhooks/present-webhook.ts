import { presentTime } from '../time.ts';
import type { DeliverySummary } from './list-deliveries.ts';
import type { WebhookListing } from './list-webhooks.ts';

/* Converts webhooks and their deliveries to the format of the Agent API. */

export function presentWebhook({ board: _, token: __, disabled_at: ___, ...webhook }: WebhookListing) {
  return {
    ...webhook,
    failing_since: presentTime(webhook.failing_since),
    previous_secret_expires_at: presentTime(webhook.previous_secret_expires_at),
    created_at: presentTime(webhook.created_at),
  };
}

export function presentDelivery({ event_id, last_attempt: last, ...delivery }: DeliverySummary) {
  return {
    ...delivery,
    event_id: `evt_${event_id}`,
    created_at: presentTime(delivery.created_at),
    next_attempt_at: presentTime(delivery.next_attempt_at),
    finished_at: presentTime(delivery.finished_at),
    last_attempt: last && { ...last, attempted_at: presentTime(last.attempted_at) },
  };
}
