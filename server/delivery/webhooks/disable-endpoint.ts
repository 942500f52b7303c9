import { sql } from 'kysely';
import { addJob } from '../../database/add-job.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { killPendingDeliveries } from '../../domain/webhooks/disable-webhook.ts';
import type { AccountEndpoint } from '../../domain/webhooks/wake-lanes.ts';
import type { NotificationToMail } from '../mail/mail-notifications.ts';

const disable = query('disable_webhook_endpoint', (db, $: Arguments<AccountEndpoint & { reason: string }>) =>
  db
    .updateTable('webhook_endpoints as w')
    .set({ disabled_at: sql`now()`, disabled_reason: $.reason, probed_until: null })
    .where('w.account_id', '=', $.accountId)
    .where('w.id', '=', $.endpointId)
    .where('w.disabled_at', 'is', null)
    .returning('w.id'),
);

const notifyAdmins = query('notify_admins_of_disabled_webhook', (db, $: Arguments<AccountEndpoint>) =>
  db
    .insertInto('notifications')
    .columns(['account_id', 'user_id', 'endpoint_id', 'kind'])
    .expression(from =>
      from
        .selectFrom('memberships as m')
        .select(['m.account_id', 'm.user_id', $.endpointId.as('endpoint_id'), from.val('webhook.disabled').as('kind')])
        .where('m.account_id', '=', $.accountId)
        .where('m.role', 'in', ['owner', 'admin'])
        .where(m =>
          m.not(
            m.exists(
              m
                .selectFrom('user_blocks as b')
                .where('b.account_id', '=', $.accountId)
                .whereRef('b.user_id', '=', 'm.user_id'),
            ),
          ),
        ),
    )
    .returning('id'),
);

/**
 * Sends nothing more to an endpoint, gives up its pending deliveries, and tells the account's owners and admins. Runs in a
 * transaction. Answers whether it disabled the endpoint: false where it was disabled already.
 */
export async function disableEndpoint(db: Queryable, endpoint: AccountEndpoint, reason: string): Promise<boolean> {
  const { accountId, endpointId } = endpoint;
  const [disabled] = await db.query(disable, { accountId, endpointId, reason });
  if (!disabled) return false;
  await killPendingDeliveries(db, endpoint);
  const notifications = await db.query(notifyAdmins, { accountId, endpointId });
  if (notifications.length > 0) {
    const payload: NotificationToMail[] = notifications.map(({ id }) => ({ account_id: accountId, id }));
    await addJob(db, { task: 'mail_people', payload });
  }
  return true;
}
