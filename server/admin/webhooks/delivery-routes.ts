import { maxPendingCounted } from '../../../contract/limits.ts';
import { AdministrationError } from '../../domain/administration.ts';
import { listDeliveryPage, readDelivery } from '../../domain/webhooks/list-deliveries.ts';
import { readWebhook } from '../../domain/webhooks/list-webhooks.ts';
import { redeliver, redeliverDeadSince } from '../../domain/webhooks/queue-deliveries.ts';
import type { Problem } from '../../pages/shell/form.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { type TextKey, t, textKeysIn } from '../../text/catalogue.ts';
import { deliveryStates, presentAttempts, presentDelivery, presentState, presentSummary } from './present-delivery.ts';
import { presentWebhook } from './present-webhook.ts';

/**
 * The numbers of deliveries and of attempts on a page, so that the page loads quickly on a phone. The page of a
 * delivery shows each attempt with its response.
 */
const deliveriesPerPage = 25;
const attemptsPerPage = 10;

/** The maximum number of deliveries that one form redelivers, so that the person does not wait too long. */
const mostRedelivered = 10_000;

const dayMs = 86_400_000;

const log = '/admin/webhooks/:id/deliveries';

/** The pages of a webhook's delivery log. They show requests and responses, and have forms for redelivery. */
export const deliveryRoutes: Route[] = [
  { path: log, show: showLog },
  { path: `${log}/redeliver`, run: redeliverSince, again: showLog },
  { path: `${log}/:deliveryId`, show: showDelivery },
  { path: `${log}/:deliveryId/redeliver`, run: redeliverOne },
];

async function redeliverSince(visit: Visit) {
  const id = visit.id();
  const since = visit.field('since');
  const count = await visit.administer(admin =>
    redeliverDeadSince(admin, visit.account.id, id, timeOfMinute(since), mostRedelivered),
  );
  const parameters = { notice: 'redelivered', ...(count > 0 ? { count: String(count) } : {}) };
  return visit.path(`/admin/webhooks/${id}/deliveries`, parameters);
}

async function redeliverOne(visit: Visit) {
  const [id, deliveryId] = [visit.id(), visit.id('deliveryId')];
  await visit.administer(admin => redeliver(admin, visit.account.id, id, deliveryId));
  return visit.path(`/admin/webhooks/${id}/deliveries/${deliveryId}`, { notice: 'redelivered' });
}

async function showDelivery(visit: Visit) {
  const [id, deliveryId] = [visit.id(), visit.id('deliveryId')];
  const before = visit.number('before');
  const found = { accountId: visit.account.id, endpointId: id, deliveryId };
  const { webhook, delivery, attempts } = await visit.administer(async admin => ({
    webhook: await readWebhook(admin, visit.account.id, id, maxPendingCounted),
    ...(await readDelivery(admin, found, { before, limit: attemptsPerPage }, visit.server.config)),
  }));
  const path = `/admin/webhooks/${id}/deliveries/${deliveryId}`;
  const data = {
    webhook: presentWebhook(webhook),
    delivery: { id: deliveryId, ...presentDelivery(delivery) },
    attempts: presentAttempts(attempts.rows, before === undefined),
    ...visit.pageLinks(path, 'before', attempts.hasMore && attempts.rows.at(-1)?.id),
  };
  const notices = textKeysIn('webhooks.delivery.notices');
  return visit.page('webhooks/delivery', t('webhooks.delivery.title'), data, { notices });
}

async function showLog(visit: Visit, problem?: Problem) {
  const id = visit.id();
  const state = deliveryStates.find(one => one === visit.parameter('state'));
  const before = visit.number('before');
  const { webhook, page } = await visit.administer(async admin => ({
    webhook: await readWebhook(admin, visit.account.id, id, maxPendingCounted),
    page: await listDeliveryPage(admin, visit.account.id, id, { state, before, limit: deliveriesPerPage }),
  }));
  const path = `/admin/webhooks/${id}/deliveries`;
  const dayAgo = new Date(visit.server.clock.now().getTime() - dayMs);
  const data = {
    webhook: presentWebhook(webhook),
    states: [
      { label: t('shell.labels.all'), href: visit.path(path), isCurrent: state === undefined },
      ...deliveryStates.map(one => ({
        label: presentState(one).label,
        href: visit.path(path, { state: one }),
        isCurrent: state === one,
      })),
    ],
    deliveries: page.rows.map(presentSummary),
    isFiltered: state !== undefined,
    ...visit.pageLinks(path, 'before', page.next, { kept: state && { state } }),
    since: problem ? visit.field('since') : minuteOf(dayAgo),
  };
  const count = visit.number('count') ?? 0;
  const notices = { redelivered: noticeOfRedelivered(count) };
  return visit.page('webhooks/deliveries', t('webhooks.deliveries.title'), data, {
    notices,
    values: { count },
    problem,
  });
}

function minuteOf(time: Date): string {
  return time.toISOString().slice(0, 16);
}

function timeOfMinute(text: string): Date {
  const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(time)) throw new AdministrationError('invalid', t('webhooks.redelivery.invalid_time'));
  return new Date(time);
}

function noticeOfRedelivered(count: number): TextKey {
  if (count === 0) return 'webhooks.deliveries.notices.redelivered_none';
  if (count < mostRedelivered) return 'webhooks.deliveries.notices.redelivered';
  return 'webhooks.deliveries.notices.redelivered_oldest';
}
