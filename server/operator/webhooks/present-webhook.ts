import type { TroubledWebhook } from '../../domain/webhooks/list-troubled-webhooks.ts';
import { showCount, shownHost, shownName } from '../../pages/shell/show.ts';
import { presentWebhookState } from '../../pages/shell/webhook-state.ts';

/** Returns a webhook for the pages. Shows only the host of its URL, because the path may be a secret. */
export function presentWebhook(webhook: TroubledWebhook) {
  return {
    id: webhook.id,
    host: shownHost(URL.parse(webhook.url)?.host ?? ''),
    account: { name: shownName(webhook.account_name), href: `/operator/accounts/${webhook.account_id}` },
    accountSlug: webhook.account_slug,
    ...presentWebhookState(webhook),
    dead: showCount('operator.webhooks.dead', webhook.dead_count),
    pending: showCount('operator.webhooks.pending', webhook.pending_count),
  };
}
