import { shownReason } from '../../domain/webhooks/disabled-reason.ts';
import type { WebhookListing } from '../../domain/webhooks/list-webhooks.ts';
import { type TextKey, t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { showStored } from './show.ts';

const states = {
  enabled: { label: 'shell.labels.enabled', chip: 'chip-completed' },
  failing: { label: 'webhooks.failing', chip: 'chip-active' },
  disabled: { label: 'shell.labels.disabled', chip: 'chip-declined' },
} as const satisfies Record<WebhookListing['state'], { label: TextKey; chip: string }>;

/**
 * Returns the state of a webhook for a page. The result also has the times when the webhook began to fail and was
 * disabled, and the reason for disabling it.
 */
export function presentWebhookState({
  state,
  failing_since,
  disabled_at,
  disabled_reason,
}: Pick<WebhookListing, 'state' | 'failing_since' | 'disabled_at' | 'disabled_reason'>) {
  return {
    state: { label: t(states[state].label), chip: states[state].chip },
    failingSince: state === 'failing' ? showStored(failing_since) : undefined,
    disabledAt: showStored(disabled_at),
    disabledReason: shortLine(shownReason(disabled_reason ?? ''), 300, ''),
  };
}
