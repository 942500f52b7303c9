import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { mostPendingCounted, type WebhookListing } from '../../domain/webhooks/list-webhooks.ts';
import { shortLine } from '../../text/plain-text.ts';
import { pathIn } from '../shell/session.ts';
import { type ShownTime, showTime } from '../shell/show.ts';

/** A webhook as the pages show it. */
export interface ShownWebhook {
  id: number;
  /** Its URL, shortened. */
  name: string;
  url: string;
  description: string;
  /** Undefined: every board. */
  board: string | undefined;
  /** Empty: every type. */
  events: string[];
  state: { label: string; chip: string };
  isDisabled: boolean;
  failingSince: ShownTime | undefined;
  disabledAt: ShownTime | undefined;
  disabledReason: string;
  /** Until when the secret before signs, too. */
  previousSecretUntil: ShownTime | undefined;
  pending: string;
  created: ShownTime;
  path: string;
  deliveriesPath: string;
  testPath: string;
  rotatePath: string;
  disablePath: string;
  enablePath: string;
  deletePath: string;
}

const states: Record<WebhookListing['state'], ShownWebhook['state']> = {
  enabled: { label: 'Enabled', chip: 'chip-completed' },
  failing: { label: 'Failing', chip: 'chip-active' },
  disabled: { label: 'Disabled', chip: 'chip-declined' },
};

export function presentWebhook(request: FastifyRequest, account: AccountOfUser, webhook: WebhookListing): ShownWebhook {
  const pathOf = (rest = '') => pathIn(request, account, `/admin/webhooks/${webhook.id}${rest}`);
  const url = shownUrl(webhook.url);
  return {
    id: webhook.id,
    name: shortLine(url, 80),
    url,
    description: shortLine(webhook.description, 200, ''),
    board: webhook.board ?? undefined,
    events: webhook.event_types,
    state: states[webhook.state],
    isDisabled: webhook.state === 'disabled',
    failingSince: webhook.state === 'failing' ? timeOf(webhook.failing_since) : undefined,
    disabledAt: timeOf(webhook.disabled_at),
    disabledReason: shortLine(webhook.disabled_reason ?? '', 300, ''),
    previousSecretUntil: timeOf(webhook.previous_secret_expires_at),
    pending: describePending(webhook.pending_count),
    created: showTime(new Date(webhook.created_at)),
    path: pathOf(),
    deliveriesPath: pathOf('/deliveries'),
    testPath: pathOf('/test'),
    rotatePath: pathOf('/rotate-secret'),
    disablePath: pathOf('/disable'),
    enablePath: pathOf('/enable'),
    deletePath: pathOf('/delete'),
  };
}

/** A URL as it is requested, which is ASCII: nothing in it passes for something else. */
export function shownUrl(url: string): string {
  return URL.parse(url)?.href ?? shortLine(url, 100);
}

function timeOf(text: string | null): ShownTime | undefined {
  return text === null ? undefined : showTime(new Date(text));
}

function describePending(count: number): string {
  return count < mostPendingCounted ? String(count) : `${mostPendingCounted} or more`;
}
