import { listTroubledWebhooks, troubles, type WebhookTrouble } from '../../domain/webhooks/list-troubled-webhooks.ts';
import { type TextKey, t } from '../../text/catalogue.ts';
import { type OperatorRoute, type OperatorVisit, operate } from '../shell/change.ts';
import { presentWebhook } from './present-webhook.ts';

const webhooksPerPage = 25;

const labels = {
  failing: 'webhooks.failing',
  disabled: 'shell.labels.disabled',
  dead: 'operator.webhooks.with_dead',
} as const satisfies Record<WebhookTrouble, TextKey>;

export const webhookRoute: OperatorRoute = { path: '/operator/webhooks', show: showWebhooks };

async function showWebhooks(visit: OperatorVisit) {
  const trouble = troubles.find(one => one === visit.parameter('state')) ?? 'failing';
  const { rows, hasMore } = await operate(visit, admin =>
    listTroubledWebhooks(admin, trouble, { after: placeOf(visit), limit: webhooksPerPage }),
  );
  const last = hasMore ? rows.at(-1) : undefined;
  const data = {
    webhooks: rows.map(presentWebhook),
    filters: troubles.map(one => ({
      label: t(labels[one]),
      href: visit.path('/operator/webhooks', { state: one }),
      isCurrent: one === trouble,
    })),
    ...visit.pageLinks('/operator/webhooks', 'after', last && `${last.account_id}.${last.id}`, {
      kept: { state: trouble },
    }),
  };
  return visit.page('webhooks/list', t('shell.labels.webhooks'), data);
}

/**
 * Reads the parameter `after`: the account id and the webhook id of the previous page's last webhook, separated by a
 * dot. Ignores an invalid value.
 */
function placeOf(visit: OperatorVisit) {
  const [, account, endpoint] = /^([1-9]\d{0,14})\.([1-9]\d{0,14})$/.exec(visit.parameter('after')) ?? [];
  return account === undefined ? undefined : { accountId: Number(account), endpointId: Number(endpoint) };
}
