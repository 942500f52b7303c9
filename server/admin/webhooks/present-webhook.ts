import { eventTypes } from '../../../contract/events.ts';
import { maxPendingCounted } from '../../../contract/limits.ts';
import type { WebhookListing } from '../../domain/webhooks/list-webhooks.ts';
import { showStored, showTime } from '../../pages/shell/show.ts';
import type { Visit } from '../../pages/shell/visit.ts';
import { presentWebhookState } from '../../pages/shell/webhook-state.ts';
import { t } from '../../text/catalogue.ts';
import { oneLine, shortLine } from '../../text/plain-text.ts';
import { eventChoices, readEventChoices } from '../shell/choices.ts';

/**
 * Returns the data of a webhook for the admin pages. A webhook without a board gets events of every board. A webhook
 * without event types gets every event type.
 */
export function presentWebhook(webhook: WebhookListing) {
  const url = shownUrl(webhook.url);
  const { pending_count: pending } = webhook;
  return {
    id: webhook.id,
    name: shortLine(url, 80),
    url,
    description: shortLine(webhook.description, 200, ''),
    board: webhook.board ?? undefined,
    token: webhook.token ?? undefined,
    events: webhook.event_types,
    isDisabled: webhook.state === 'disabled',
    ...presentWebhookState(webhook),
    previousSecretUntil: showStored(webhook.previous_secret_expires_at),
    pending:
      pending < maxPendingCounted
        ? String(pending)
        : t('webhooks.facts.pending_or_more', { number: maxPendingCounted }),
    created: showTime(new Date(webhook.created_at)),
  };
}

/**
 * Returns a webhook's URL in normalized form. This form is ASCII, so that no letter can look like a different letter.
 */
export function shownUrl(url: string): string {
  return URL.parse(url)?.href ?? shortLine(url, 100);
}

/** The empty form for a new webhook. `board` is a slug, or empty for every board of the account. */
export const emptyForm = { url: '', description: '', board: '', eventTypes: [] as string[] };

export function readForm(visit: Visit): typeof emptyForm {
  return {
    url: visit.field('url').trim(),
    description: visit.field('description'),
    board: visit.field('board'),
    eventTypes: readEventChoices(visit.request.body, eventTypes),
  };
}

export function formOf({ url, description, board, event_types }: WebhookListing): typeof emptyForm {
  return { url: shownUrl(url), description: oneLine(description), board: board ?? '', eventTypes: event_types };
}

export function shownForm({ url, description, eventTypes: chosen }: typeof emptyForm) {
  return { url, description, events: eventChoices(eventTypes, chosen) };
}
