import { sql } from 'kysely';
import { type Administration, AdministrationError } from '../administration.ts';
import { requireEnabledWebhook } from './find-webhook.ts';
import { wakeEndpoint } from './wake-lanes.ts';

const begun = { state: 'pending', attempt_count: 0, next_attempt_at: sql<string>`now()`, finished_at: null } as const;

/** Sends a delivery again, whatever came of it, under the same webhook-id and with all the tries of a new one. */
export async function redeliver(
  admin: Administration,
  accountId: number,
  endpointId: number,
  deliveryId: number,
): Promise<void> {
  await requireEnabledWebhook(admin, accountId, endpointId);
  const delivery = await admin.db
    .updateTable('webhook_deliveries as d')
    .set(begun)
    .where('d.account_id', '=', accountId)
    .where('d.id', '=', deliveryId)
    .where('d.endpoint_id', '=', endpointId)
    .returning('d.id')
    .executeTakeFirst();
  if (!delivery) throw new AdministrationError('not_found', `The webhook ${endpointId} has no delivery ${deliveryId}`);
  await wakeEndpoint(admin, { accountId, endpointId });
  recordAgain(admin, accountId, endpointId, 1);
}

/**
 * Sends everything again that was given up of what was to be delivered since a time, the oldest first and no more than
 * atMost, and answers how much it is.
 */
export async function redeliverDeadSince(
  admin: Administration,
  accountId: number,
  endpointId: number,
  since: Date,
  atMost: number | null = null,
): Promise<number> {
  await requireEnabledWebhook(admin, accountId, endpointId);
  const { numUpdatedRows } = await admin.db
    .updateTable('webhook_deliveries as d')
    .set(begun)
    .where('d.account_id', '=', accountId)
    // Of two who ask for it at once, the second finds nothing that is dead any more.
    .where('d.state', '=', 'dead')
    .where('d.id', 'in', dead =>
      dead
        .selectFrom('webhook_deliveries as dead')
        .select('dead.id')
        .where('dead.account_id', '=', accountId)
        .where('dead.endpoint_id', '=', endpointId)
        .where('dead.state', '=', 'dead')
        .where('dead.created_at', '>=', since.toISOString())
        .orderBy('dead.id')
        .$call(oldest => (atMost === null ? oldest : oldest.limit(atMost))),
    )
    .executeTakeFirst();
  const count = Number(numUpdatedRows);
  if (count === 0) return 0;
  await wakeEndpoint(admin, { accountId, endpointId });
  recordAgain(admin, accountId, endpointId, count);
  return count;
}

function recordAgain(admin: Administration, accountId: number, webhookId: number, deliveries: number) {
  admin.audit.record('webhook.redelivered', { account_id: accountId, webhook_id: webhookId, deliveries });
}
