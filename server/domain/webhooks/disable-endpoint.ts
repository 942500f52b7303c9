import { sql } from 'kysely';
import { addJob } from '../../database/add-job.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { administeringRoles } from '../../entities/membership.ts';
import type { NotificationToMail } from '../notifications/notifications.ts';
import type { AccountEndpoint } from './wake-lanes.ts';

const killPending = query('kill_pending_deliveries', (db, $: Arguments<AccountEndpoint>) =>
  db
    .with('disabled', cte =>
      cte
        .selectFrom('webhook_endpoints as w')
        .select('w.id')
        .where(w => w.and({ 'w.account_id': $.accountId, 'w.id': $.endpointId }))
        .where('w.disabled_at', 'is not', null)
        .forShare('w'),
    )
    .updateTable('webhook_deliveries as d')
    .set({ state: 'dead', next_attempt_at: null, finished_at: sql`now()` })
    .where(d => d.and({ 'd.account_id': $.accountId, 'd.endpoint_id': $.endpointId, 'd.state': 'pending' }))
    .where(d => d.exists(d.selectFrom('disabled'))),
);

/**
 * Marks the pending deliveries of a disabled endpoint as dead. Locks the endpoint first. Otherwise somebody could enable
 * it, and the deliveries of new events would become dead, too.
 */
export async function killPendingDeliveries(db: Queryable, { accountId, endpointId }: AccountEndpoint): Promise<void> {
  await db.query(killPending, { accountId, endpointId });
}

const disable = query('disable_webhook_endpoint', (db, $: Arguments<AccountEndpoint & { reason: string }>) =>
  db
    .updateTable('webhook_endpoints as w')
    .set({ disabled_at: sql`now()`, disabled_reason: $.reason, probed_until: null })
    .where(w => w.and({ 'w.account_id': $.accountId, 'w.id': $.endpointId, 'w.disabled_at': null }))
    .returning('w.id'),
);

/**
 * Disables an endpoint and marks its pending deliveries as dead, so that the server does not send them. Returns false
 * if the endpoint was already disabled.
 */
export async function stopEndpoint(db: Queryable, endpoint: AccountEndpoint, reason: string): Promise<boolean> {
  const { accountId, endpointId } = endpoint;
  const [disabled] = await db.query(disable, { accountId, endpointId, reason });
  if (disabled) await killPendingDeliveries(db, endpoint);
  return disabled !== undefined;
}

const notifyAdmins = query('notify_admins_of_disabled_webhook', (db, $: Arguments<AccountEndpoint>) =>
  db
    .insertInto('notifications')
    .columns(['account_id', 'user_id', 'endpoint_id', 'kind'])
    .expression(from =>
      from
        .selectFrom('memberships as m')
        .leftJoin('user_blocks as b', join =>
          join.onRef('b.user_id', '=', 'm.user_id').on('b.account_id', '=', $.accountId),
        )
        .select(['m.account_id', 'm.user_id', $.endpointId.as('endpoint_id'), from.val('webhook.disabled').as('kind')])
        .where('m.account_id', '=', $.accountId)
        .where('m.role', 'in', administeringRoles)
        .where('b.user_id', 'is', null),
    )
    .returning('id'),
);

/** Disables an endpoint and notifies the owners and admins of the account. Call this function in a transaction. */
export async function disableEndpoint(db: Queryable, endpoint: AccountEndpoint, reason: string): Promise<boolean> {
  if (!(await stopEndpoint(db, endpoint, reason))) return false;
  const { accountId, endpointId } = endpoint;
  const notifications = await db.query(notifyAdmins, { accountId, endpointId });
  if (notifications.length > 0) {
    const payload: NotificationToMail[] = notifications.map(({ id }) => ({ account_id: accountId, id }));
    await addJob(db, { task: 'mail_people', payload });
  }
  return true;
}
