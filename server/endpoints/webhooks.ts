import { defaultEventTypes } from '../../contract/events.ts';
import { maxPendingCounted } from '../../contract/limits.ts';
import { defaultPerPage } from '../../contract/pagination.ts';
import type { ServerDependencies } from '../dependencies.ts';
import type { Reading } from '../domain/administration.ts';
import type { Actor } from '../domain/operation.ts';
import { encodeCursor, placeOf, presentPage } from '../domain/pagination.ts';
import { buildSecretBox } from '../domain/secret-box.ts';
import { presentTime } from '../domain/time.ts';
import { storedReason } from '../domain/webhooks/disabled-reason.ts';
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  requireWebhook,
  rotateWebhookSecret,
  updateWebhook,
} from '../domain/webhooks/edit-webhook.ts';
import { type DeliverySummary, listDeliveryPage, readDeliverySummary } from '../domain/webhooks/list-deliveries.ts';
import { listWebhookPage, readWebhook, type WebhookListing } from '../domain/webhooks/list-webhooks.ts';
import { redeliver, sendTestEvent } from '../domain/webhooks/queue-deliveries.ts';
import type { OperationRunner } from '../http/operation-runner.ts';
import type { Endpoints } from '../http/ts-rest.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';

type WebhookEndpoints = Pick<
  Endpoints,
  | 'listWebhooks'
  | 'getWebhook'
  | 'createWebhook'
  | 'updateWebhook'
  | 'deleteWebhook'
  | 'rotateWebhookSecret'
  | 'testWebhook'
  | 'listWebhookDeliveries'
  | 'redeliverWebhookDelivery'
>;

/** The name that cursors contain for the list of webhooks. Lists of deliveries have another name for each state. */
const webhookSort = 'webhooks';

/** The operations on webhooks. A request reaches only the webhooks of its own board. */
export function webhookEndpoints(
  runner: OperationRunner,
  { appKey, config }: Pick<ServerDependencies, 'appKey' | 'config'>,
): WebhookEndpoints {
  const secretBox = buildSecretBox(appKey);
  const guard = buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS);

  return {
    listWebhooks: async ({ request, query }) => {
      const place = placeOf(query, webhookSort, defaultPerPage);
      const { rows, hasMore } = await runner.readForAdministration(request, (reading, { accountId, boardId }) =>
        listWebhookPage(reading, accountId, {
          boardId,
          before: place.cursor?.id,
          offset: place.offset,
          limit: place.perPage,
        }),
      );
      const last = hasMore ? rows.at(-1) : undefined;
      const nextCursor = last ? encodeCursor({ sort: webhookSort, key: 0, id: last.id }) : null;
      return { status: 200, body: presentPage({ rows, place, hasMore, nextCursor }, presentWebhook) };
    },

    getWebhook: async ({ request, params }) => ({
      status: 200,
      body: await runner.readForAdministration(request, (reading, actor) => present(reading, actor, params.webhookId)),
    }),

    createWebhook: ({ request, reply, query, body }) =>
      runner.administer({ request, reply, query, body, turns, withoutSecret }, async (admin, actor) => {
        const { accountId, boardId, tokenId } = actor;
        // If the request names no event types, stores all types that exist now. If a later version adds a type that the
        // token may not read, the webhook does not get events of this type.
        const { url, description = '', event_types: eventTypes = defaultEventTypes } = body;
        const input = { accountId, boardId, tokenId, url, description, eventTypes };
        const { endpoint, secret } = await createWebhook(admin, secretBox, input, guard);
        return { status: 201, body: { ...(await present(admin, actor, endpoint.id)), secret } };
      }),

    updateWebhook: ({ request, reply, params, query, body }) =>
      runner.administer({ request, reply, params, query, body, turns }, async (admin, actor) => {
        const { event_types: eventTypes, enabled, url, description } = body;
        const endpoint = await find(admin, actor, params.webhookId);
        await updateWebhook(
          admin,
          endpoint,
          {
            ...(url === undefined ? {} : { url }),
            ...(description === undefined ? {} : { description }),
            ...(eventTypes ? { eventTypes } : {}),
          },
          guard,
        );
        if (enabled === true) await enableWebhook(admin, endpoint);
        if (enabled === false) await disableWebhook(admin, endpoint, storedReason('token'));
        return { status: 200, body: await present(admin, actor, params.webhookId) };
      }),

    deleteWebhook: ({ request, reply, params, query }) =>
      runner.administer({ request, reply, params, query, turns }, async (admin, actor) => {
        await deleteWebhook(admin, await find(admin, actor, params.webhookId));
        return { status: 200, body: { id: params.webhookId, deleted: true } };
      }),

    rotateWebhookSecret: ({ request, reply, params, query }) =>
      runner.administer({ request, reply, params, query, turns, withoutSecret }, async (admin, actor) => {
        const endpoint = await find(admin, actor, params.webhookId);
        const secret = await rotateWebhookSecret(admin, secretBox, endpoint, query.overlap_hours);
        return { status: 200, body: { ...(await present(admin, actor, params.webhookId)), secret } };
      }),

    testWebhook: ({ request, reply, params, query }) =>
      runner.administer({ request, reply, params, query, turns }, async (admin, { accountId, boardId }) => {
        const { webhookId } = params;
        const deliveryId = await sendTestEvent(admin, accountId, webhookId, boardId);
        const delivery = await readDeliverySummary(admin, accountId, webhookId, deliveryId);
        return { status: 201, body: presentDelivery(delivery) };
      }),

    listWebhookDeliveries: async ({ request, params, query }) => {
      const { state } = query;
      const sort = `deliveries:${state ?? 'all'}`;
      const { perPage: limit, cursor } = placeOf(query, sort, defaultPerPage);
      const { rows, next } = await runner.readForAdministration(request, (reading, { accountId, boardId }) =>
        listDeliveryPage(reading, accountId, params.webhookId, { boardId, state, before: cursor?.id, limit }),
      );
      const nextCursor = next === undefined ? null : encodeCursor({ sort, key: 0, id: next });
      const body = { data: rows.map(presentDelivery), has_more: nextCursor !== null, next_cursor: nextCursor };
      return { status: 200, body };
    },

    redeliverWebhookDelivery: ({ request, reply, params, query }) =>
      runner.administer({ request, reply, params, query, turns }, async (admin, { accountId, boardId }) => {
        const { webhookId, deliveryId } = params;
        await redeliver(admin, accountId, webhookId, deliveryId, boardId);
        const delivery = await readDeliverySummary(admin, accountId, webhookId, deliveryId);
        return { status: 200, body: presentDelivery(delivery) };
      }),
  };
}

/**
 * Returns the key that limits how many writes to an account's webhooks run at the same time (see Database.inTurn). The
 * creation of a webhook locks the account. Other writes lock only one webhook.
 */
function turns({ accountId }: Actor): string[] {
  return [`webhooks:${accountId}`];
}

function withoutSecret<Body extends object>(body: Body): Body {
  return 'secret' in body ? { ...body, secret: null } : body;
}

function find(admin: Parameters<typeof requireWebhook>[0], { accountId, boardId }: Actor, id: number) {
  return requireWebhook(admin, accountId, id, boardId);
}

async function present(reading: Reading, { accountId, boardId }: Actor, id: number) {
  return presentWebhook(await readWebhook(reading, accountId, id, maxPendingCounted, boardId));
}

function presentWebhook({ board: _, token: __, disabled_at: ___, ...webhook }: WebhookListing) {
  return {
    ...webhook,
    failing_since: presentTime(webhook.failing_since),
    previous_secret_expires_at: presentTime(webhook.previous_secret_expires_at),
    created_at: presentTime(webhook.created_at),
  };
}

function presentDelivery({ event_id, last_attempt: last, ...delivery }: DeliverySummary) {
  return {
    ...delivery,
    event_id: `evt_${event_id}`,
    created_at: presentTime(delivery.created_at),
    next_attempt_at: presentTime(delivery.next_attempt_at),
    finished_at: presentTime(delivery.finished_at),
    last_attempt: last && { ...last, attempted_at: presentTime(last.attempted_at) },
  };
}
