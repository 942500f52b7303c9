import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';

const disable = statement<{ account_id: number }>(
  'disable_webhook_endpoint',
  `update webhook_endpoints set disabled_at = now(), disabled_reason = $2, probed_until = null
  where id = $1 and disabled_at is null
  returning account_id`,
);

const killPending = statement<never>(
  'kill_pending_deliveries',
  `update webhook_deliveries set state = 'dead', next_attempt_at = null, finished_at = now()
  where endpoint_id = $1 and state = 'pending'`,
);

const notifyAdmins = statement<{ id: number }>(
  'notify_admins_of_disabled_webhook',
  `insert into notifications (account_id, user_id, endpoint_id, kind)
  select m.account_id, m.user_id, $2, 'webhook.disabled'
  from memberships m
  where m.account_id = $1 and m.role in ('owner', 'admin')
    and not exists (select from user_blocks b where b.account_id = m.account_id and b.user_id = m.user_id)
  returning id`,
);

const mailNotifications = statement<never>(
  'mail_notifications',
  `select graphile_worker.add_job('mail_notifications', to_json($1::bigint[]))`,
);

/**
 * Sends nothing more to an endpoint, gives up what is on its way to it, and tells the account's owners and admins.
 * Runs in a transaction. Answers whose endpoint it was; undefined where it was disabled already.
 */
export async function disableEndpoint(
  db: Queryable,
  endpointId: number,
  reason: string,
): Promise<{ accountId: number } | undefined> {
  const [endpoint] = await db.query(disable, [endpointId, reason]);
  if (!endpoint) return undefined;
  await killPendingDeliveries(db, endpointId);
  const notifications = await db.query(notifyAdmins, [endpoint.account_id, endpointId]);
  if (notifications.length > 0) await db.query(mailNotifications, [notifications.map(({ id }) => id)]);
  return { accountId: endpoint.account_id };
}

/** Gives up what is on its way to an endpoint. */
export async function killPendingDeliveries(db: Queryable, endpointId: number): Promise<void> {
  await db.query(killPending, [endpointId]);
}
