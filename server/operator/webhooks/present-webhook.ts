import { shownReason } from '../../domain/webhooks/disabled-reason.ts';
import type { TroubledWebhook } from '../../domain/webhooks/list-troubled-webhooks.ts';
import { showCount, shownHost, shownName, showStored } from '../../pages/shell/show.ts';
import { type TextKey, t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';

const states = {
  enabled: { label: 'shell.labels.enabled', chip: 'chip-completed' },
  failing: { label: 'webhooks.failing', chip: 'chip-active' },
  disabled: { label: 'shell.labels.disabled', chip: 'chip-declined' },
} as const satisfies Record<TroubledWebhook['state'], { label: TextKey; chip: string }>;

/** Returns a webhook for the pages. Shows only the host of its URL, because the path may be a secret. */
export function presentWebhook(webhook: TroubledWebhook) {
  return {
    id: webhook.id,
    host: shownHost(URL.parse(webhook.url)?.host ?? ''),
    account: { name: shownName(webhook.account_name), href: `/operator/accounts/${webhook.account_id}` },
    accountSlug: webhook.account_slug,
    state: { label: t(states[webhook.state].label), chip: states[webhook.state].chip },
    failingSince: webhook.state === 'failing' ? showStored(webhook.failing_since) : undefined,
    disabledAt: showStored(webhook.disabled_at),
    disabledReason: shortLine(shownReason(webhook.disabled_reason ?? ''), 300, ''),
    dead: showCount('operator.webhooks.dead', webhook.dead_count),
    pending: showCount('operator.webhooks.pending', webhook.pending_count),
  };
}
