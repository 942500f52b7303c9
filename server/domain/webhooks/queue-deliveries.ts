import { sql } from 'kysely';
import type { TestEventBody } from '../../../contract/events.ts';
import { Event } from '../../entities/event.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { unknownWebhook } from './edit-webhook.ts';
import { unknownDelivery } from './list-deliveries.ts';
import { wakeEndpoint, wakeLanes } from './wake-lanes.ts';

const pendingNow = {
  state: 'pending',
  attempt_count: 0,
  next_attempt_at: sql<string>`now()`,
  finished_at: null,
} as const;

/**
 * Queues a delivery again, whatever its state is. The delivery keeps its webhook-id, and the count of its attempts
 * starts again at zero. Throws if the endpoint is disabled.
 */
export async function redeliver(
  admin: Administration,
  accountId: number,
  endpointId: number,
  deliveryId: number,
  boardId?: number,
) {
  await checkEnabled(admin, accountId, endpointId, boardId);
  await admin.db
    .updateTable('webhook_deliveries')
    .set(pendingNow)
    .where(d => d.and({ account_id: accountId, endpoint_id: endpointId, id: deliveryId }))
    .returning('id')
    .executeTakeFirstOrThrow(() => unknownDelivery(endpointId, deliveryId));
  await sendAgain(admin, accountId, endpointId, 1);
}

/**
 * Redelivers dead deliveries (failed for good) that were created at or after the given time. Starts with the oldest and
 * redelivers at most atMost. Returns the number of redelivered deliveries.
 */
export async function redeliverDeadSince(
  admin: Administration,
  accountId: number,
  endpointId: number,
  since: Date,
  atMost: number | null = null,
): Promise<number> {
  await checkEnabled(admin, accountId, endpointId);
  const { numUpdatedRows } = await admin.db
    .updateTable('webhook_deliveries as d')
    .set(pendingNow)
    // PostgreSQL checks the state again after the lock, so two parallel calls do not redeliver the same delivery.
    .where(d => d.and({ 'd.account_id': accountId, 'd.state': 'dead' }))
    .where('d.id', 'in', from =>
      from
        .selectFrom('webhook_deliveries as dead')
        .select('dead.id')
        .where(d => d.and({ 'dead.account_id': accountId, 'dead.endpoint_id': endpointId, 'dead.state': 'dead' }))
        .where('dead.created_at', '>=', since.toISOString())
        .orderBy('dead.id')
        .limit(atMost),
    )
    .executeTakeFirst();
  const count = Number(numUpdatedRows);
  if (count > 0) await sendAgain(admin, accountId, endpointId, count);
  return count;
}

async function sendAgain(admin: Administration, accountId: number, endpointId: number, deliveries: number) {
  await wakeEndpoint(admin, { accountId, endpointId });
  admin.audit.record('webhook.redelivered', { account_id: accountId, webhook_id: endpointId, deliveries });
}

/**
 * Sends a test event to the endpoint, even if the endpoint does not receive this type of event. Returns the delivery's
 * id.
 */
export async function sendTestEvent(
  admin: Administration,
  accountId: number,
  endpointId: number,
  boardId?: number,
): Promise<number> {
  await checkEnabled(admin, accountId, endpointId, boardId);
  const body: TestEventBody = {
    type: 'webhook.test',
    timestamp: admin.now.toISOString(),
    data: { endpoint_id: endpointId },
  };
  const event = admin.em.create(Event, {
    accountId,
    type: body.type,
    data: body.data,
    body,
    occurredAt: admin.now,
  });
  await admin.em.flush();
  const delivery = await admin.db
    .insertInto('webhook_deliveries')
    .values({
      account_id: accountId,
      endpoint_id: endpointId,
      event_id: event.id,
      created_at: admin.now,
      next_attempt_at: sql<string>`now()`,
    })
    .returning(['id', 'lane'])
    .executeTakeFirstOrThrow();
  await wakeLanes(admin, [{ accountId, endpointId, lane: delivery.lane }]);
  admin.audit.record('webhook.tested', { account_id: accountId, webhook_id: endpointId });
  return delivery.id;
}

/**
 * Locks the endpoint, so that nobody disables or deletes it before its new deliveries are committed. If a board is
 * given, the endpoint must belong to this board.
 */
async function checkEnabled(admin: Administration, accountId: number, endpointId: number, boardId?: number) {
  const endpoint = await admin.db
    .selectFrom('webhook_endpoints as w')
    .select('w.disabled_at')
    .where(w => w.and({ 'w.account_id': accountId, 'w.id': endpointId }))
    .$call(webhooks => (boardId === undefined ? webhooks : webhooks.where('w.board_id', '=', boardId)))
    .forShare('w')
    .executeTakeFirstOrThrow(() => unknownWebhook(endpointId));
  if (!endpoint.disabled_at) return;
  const message = t('refusals.webhook.disabled', { id: endpointId });
  throw new AdministrationError('conflict', message, { key: 'webhook_disabled' });
}
