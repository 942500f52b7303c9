import { plannedStatement } from '../../database/statement.ts';
import { wakeEndpoint } from '../../events/webhooks/wake-lanes.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { requireEnabledWebhook } from './find-webhook.ts';

const beginAnew = `update webhook_deliveries
  set state = 'pending', attempt_count = 0, next_attempt_at = now(), finished_at = null`;

const redeliverOne = plannedStatement<{ id: number }>(`${beginAnew} where id = $1 and endpoint_id = $2 returning id`);

const redeliverDead = plannedStatement<{ id: number }>(
  `${beginAnew} where endpoint_id = $1 and state = 'dead' and created_at >= $2 returning id`,
);

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
}

/** Sends everything again that was given up of what was to be delivered since a time, and answers how much it is. */
export async function redeliverDeadSince(
  admin: Administration,
  accountId: number,
  endpointId: number,
  since: Date,
): Promise<number> {
  await requireEnabledWebhook(admin, accountId, endpointId);
  const deliveries = await admin.query(redeliverDead, [endpointId, since]);
  await wakeEndpoint(admin, endpointId);
  return deliveries.length;
}
