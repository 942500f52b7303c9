import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError } from '../../domain/administration.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { listDeliveryPage } from '../../domain/webhooks/list-delivery-page.ts';
import { mostPendingCounted, readWebhook } from '../../domain/webhooks/list-webhooks.ts';
import { readDelivery } from '../../domain/webhooks/read-delivery.ts';
import { redeliver, redeliverDeadSince } from '../../domain/webhooks/redeliver.ts';
import type { DeliveryState } from '../../entities/webhook.ts';
import { definePage, type Link, type NavigationLink, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, idIn, noticeIn, numberIn, problemOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireAdminAccount, requireSession } from '../shell/session.ts';
import {
  deliveryStates,
  presentAttempts,
  presentDelivery,
  presentSummary,
  type ShownAttempt,
  type ShownDelivery,
  type ShownRequest,
} from './present-delivery.ts';
import { presentWebhook, type ShownWebhook } from './present-webhook.ts';

interface LogData {
  webhook: ShownWebhook;
  states: NavigationLink[];
  deliveries: ShownDelivery[];
  isFiltered: boolean;
  first: Link | undefined;
  next: Link | undefined;
  redeliverPath: string;
  since: string;
  formToken: string;
  notice?: string | undefined;
  problem?: string | undefined;
}

interface DeliveryData {
  webhook: ShownWebhook;
  delivery: ShownRequest;
  attempts: ShownAttempt[];
  first: Link | undefined;
  next: Link | undefined;
  path: string;
  redeliverPath: string;
  formToken: string;
  notice?: string | undefined;
}

const logPage = definePage<LogData>('admin/webhooks/deliveries');
const deliveryPage = definePage<DeliveryData>('admin/webhooks/delivery');

/** So many fit a page that is quick on a phone; a try has what was answered with it. */
const deliveriesPerPage = 25;
const attemptsPerPage = 10;

/** So many are sent again for one form: more would keep the database, and whoever waits for the answer, too long. */
const mostRedelivered = 10_000;

const dayMs = 86_400_000;

/** The log of the deliveries of a webhook: what was sent, what was answered, and sending it again. */
export function serveDeliveries(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/webhooks/:id/deliveries', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const notice = noticeIn(request, { redelivered: describeRedelivered(numberIn(request, 'count') ?? 0) });
    const since = minuteOf(new Date(server.clock.now().getTime() - dayMs));
    return showLog(request, reply, account, { since, notice });
  });

  app.post('/admin/webhooks/:id/deliveries/redeliver', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const id = idIn(request);
    const since = fieldOf(request.body, 'since');
    try {
      const count = await administer(server, request, admin =>
        redeliverDeadSince(admin, account.id, id, timeOfMinute(since), mostRedelivered),
      );
      const parameters = { notice: 'redelivered', ...(count > 0 ? { count: String(count) } : {}) };
      return reply.redirect(pathIn(request, account, `/admin/webhooks/${id}/deliveries`, parameters), 303);
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showLog(request, reply, account, { since, problem }, status);
    }
  });

  app.get('/admin/webhooks/:id/deliveries/:deliveryId', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const [id, deliveryId] = [idIn(request), idIn(request, 'deliveryId')];
    const before = numberIn(request, 'before');
    const { webhook, delivery, attempts } = await administer(server, request, async admin => ({
      webhook: await readWebhook(admin, account.id, id, mostPendingCounted),
      ...(await readDelivery(
        admin,
        { accountId: account.id, endpointId: id, deliveryId },
        { before, limit: attemptsPerPage },
      )),
    }));
    const pathOf = (parameters = {}, rest = '') =>
      pathIn(request, account, `/admin/webhooks/${id}/deliveries/${deliveryId}${rest}`, parameters);
    const last = attempts.rows.at(-1);
    const data: DeliveryData = {
      webhook: presentWebhook(request, account, webhook),
      delivery: presentDelivery(delivery),
      attempts: presentAttempts(attempts.rows, before === undefined),
      first: before === undefined ? undefined : { label: 'Back to the last try', href: pathOf() },
      next: attempts.hasMore && last ? { label: 'Earlier tries', href: pathOf({ before: last.id }) } : undefined,
      path: pathOf(),
      redeliverPath: pathOf({}, '/redeliver'),
      formToken: formTokenOf(request),
      notice: noticeIn(request, {
        tested: 'The test event is on its way. Its answer is shown below as soon as there is one.',
        redelivered: 'It is on its way again, under the same webhook-id.',
      }),
    };
    return sendPage(reply, deliveryPage(frameOf(request, account, 'Delivery'), data));
  });

  app.post('/admin/webhooks/:id/deliveries/:deliveryId/redeliver', { onRequest }, async (request, reply) => {
    const account = requireAdminAccount(request);
    const [id, deliveryId] = [idIn(request), idIn(request, 'deliveryId')];
    await administer(server, request, admin => redeliver(admin, account.id, id, deliveryId));
    const path = `/admin/webhooks/${id}/deliveries/${deliveryId}`;
    return reply.redirect(pathIn(request, account, path, { notice: 'redelivered' }), 303);
  });

  async function showLog(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    words: Pick<LogData, 'since' | 'notice' | 'problem'>,
    status = 200,
  ) {
    const id = idIn(request);
    const state = stateIn(request);
    const before = numberIn(request, 'before');
    const { webhook, page } = await administer(server, request, async admin => ({
      webhook: await readWebhook(admin, account.id, id, mostPendingCounted),
      page: await listDeliveryPage(admin, account.id, id, { state, before, limit: deliveriesPerPage }),
    }));
    const pathOf = (parameters: { state?: DeliveryState | undefined; before?: number }) =>
      pathIn(request, account, `/admin/webhooks/${id}/deliveries`, {
        ...(parameters.state ? { state: parameters.state } : {}),
        ...(parameters.before ? { before: String(parameters.before) } : {}),
      });
    const data: LogData = {
      webhook: presentWebhook(request, account, webhook),
      states: [
        { label: 'All', href: pathOf({}), isCurrent: state === undefined },
        ...allStates.map(one => ({
          label: deliveryStates[one].label,
          href: pathOf({ state: one }),
          isCurrent: state === one,
        })),
      ],
      deliveries: page.rows.map(delivery => presentSummary(request, account, id, delivery)),
      isFiltered: state !== undefined,
      first: before === undefined ? undefined : { label: 'Back to the newest', href: pathOf({ state }) },
      next: page.next === undefined ? undefined : { label: 'Older', href: pathOf({ state, before: page.next }) },
      redeliverPath: pathIn(request, account, `/admin/webhooks/${id}/deliveries/redeliver`),
      formToken: formTokenOf(request),
      ...words,
    };
    return sendPage(reply, logPage(frameOf(request, account, 'Deliveries'), data), status);
  }
}

const allStates = Object.keys(deliveryStates) as DeliveryState[];

function stateIn({ query }: FastifyRequest): DeliveryState | undefined {
  const text = fieldOf(query, 'state');
  return allStates.find(state => state === text);
}

/** As a field of a form has it, to the minute and without a zone: in UTC, as it says. */
function minuteOf(time: Date): string {
  return time.toISOString().slice(0, 16);
}

function timeOfMinute(text: string): Date {
  const time = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?$/.test(text) ? Date.parse(`${text}Z`) : Number.NaN;
  if (Number.isNaN(time)) throw new AdministrationError('invalid', 'Give a day and a time, such as 2026-03-14T09:30');
  return new Date(time);
}

function describeRedelivered(count: number): string {
  if (count === 0) return 'Nothing was given up since then.';
  if (count === 1) return 'One delivery is on its way again.';
  if (count < mostRedelivered) return `${count} deliveries are on their way again.`;
  return `The oldest ${count} deliveries are on their way again. Ask once more for the others.`;
}
