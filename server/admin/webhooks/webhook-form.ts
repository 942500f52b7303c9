import { eventTypes } from '../../../contract/events.ts';
import type { WebhookListing } from '../../domain/webhooks/list-webhooks.ts';
import { oneLine } from '../../text/plain-text.ts';
import { type EventChoice, eventChoices, readEventChoices } from '../shell/choices.ts';
import { fieldOf } from '../shell/form.ts';
import { shownUrl } from './present-webhook.ts';

/** What was entered in the form of a webhook. */
export interface GivenWebhook {
  url: string;
  description: string;
  /** The slug of its board; empty for all of them. */
  board: string;
  eventTypes: string[];
}

/** The form as it is shown. */
export interface WebhookForm {
  url: string;
  description: string;
  events: EventChoice[];
}

export const emptyWebhook: GivenWebhook = { url: '', description: '', board: '', eventTypes: [] };

export function readWebhookForm(body: unknown): GivenWebhook {
  return {
    url: fieldOf(body, 'url').trim(),
    description: fieldOf(body, 'description'),
    board: fieldOf(body, 'board'),
    eventTypes: readEventChoices(body, eventTypes),
  };
}

/** What is in the form of a webhook before anything is changed in it. */
export function givenOf({ url, description, board, event_types }: WebhookListing): GivenWebhook {
  return { url: shownUrl(url), description: oneLine(description), board: board ?? '', eventTypes: event_types };
}

export function webhookForm({ url, description, eventTypes: chosen }: GivenWebhook): WebhookForm {
  return { url, description, events: eventChoices(eventTypes, chosen) };
}
