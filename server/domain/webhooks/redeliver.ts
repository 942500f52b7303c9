import { plannedStatement } from '../../database/statement.ts';
import { wakeEndpoint } from '../../events/webhooks/wake-lanes.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { requireEnabledWebhook } from './find-webhook.ts';

const beginAnew = `update webhook_deliveries
  set state = 'pending', attempt_count = 0, next_attempt_at = now(), finished_at = null`;

const redeliverOne = plannedStatement<{ id: number }>(`${beginAnew} where id = $1 and endpoint_id = $2 returning id`);

/** Of two who ask for it at once, the second finds nothing that is dead any more. */
const redeliverDead = plannedStatement<{ count: number }>(`
  with again as (
    ${beginAnew}
    where state = 'dead' and id in (
      select d.id from webhook_deliveries d
      where d.endpoint_id = $1 and d.state = 'dead' and d.created_at >= $2
      order by d.id
      limit $3::bigint
    )
    returning id
  )
  select count(*)::int as count from again`);

/** Sends a delivery again, whatever came of it, under the same webhook-id and with all the tries of a new one. */
export async function redeliver(
  admin: Administration,
  accountId: number,
  endpointId: number,
  deliveryId: number,
): Promise<void> {
  await requireEnabledWebhook(admin, accountId, endpointId);
  const [delivery] = await admin.query(redeliverOne, [deliveryId, endpointId]);
  if (!delivery) throw new AdministrationError('not_found', `The webhook ${endpointId} has no delivery ${deliveryId}`);
  await wakeEndpoint(admin, endpointId);
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
  const [again] = await admin.query(redeliverDead, [endpointId, since, atMost]);
  if (!again || again.count === 0) return 0;
  await wakeEndpoint(admin, endpointId);
  recordAgain(admin, accountId, endpointId, again.count);
  return again.count;
}

function recordAgain(admin: Administration, accountId: number, webhookId: number, deliveries: number) {
  admin.audit.record('webhook.redelivered', { account_id: accountId, webhook_id: webhookId, deliveries });
}
