import { sql } from 'kysely';
import { addJob } from '../../database/add-job.ts';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { WebhookEndpoint } from '../../entities/webhook.ts';
import type { Administration } from '../administration.ts';
import { checkText } from '../fields.ts';
import type { NotificationToMail } from '../notifications/notification-to-mail.ts';
import type { AccountEndpoint } from './wake-lanes.ts';

const maxReasonLength = 300;

/** Stops deliveries to an endpoint and gives up the pending ones. A disabled endpoint keeps its reason. */
export async function disableWebhook(admin: Administration, endpoint: WebhookEndpoint, reason: string): Promise<void> {
  const disabledReason = checkText(reason, 1, maxReasonLength, 'reason');
  if (endpoint.disabledAt) return;
  Object.assign(endpoint, { disabledAt: admin.now, disabledReason });
  await admin.em.flush();
  const { accountId, id } = endpoint;
  await killPendingDeliveries(admin, { accountId, endpointId: id });
  admin.audit.record('webhook.disabled', { account_id: accountId, webhook_id: id, reason: 'administrator' });
}

const killPending = query('kill_pending_deliveries', (db, $: Arguments<AccountEndpoint>) =>
  db
    .updateTable('webhook_deliveries as d')
    .set({ state: 'dead', next_attempt_at: null, finished_at: sql`now()` })
    .where('d.account_id', '=', $.accountId)
    .where('d.endpoint_id', '=', $.endpointId)
    .where('d.state', '=', 'pending'),
);

/** Gives up the pending deliveries of an endpoint. */
export async function killPendingDeliveries(db: Queryable, { accountId, endpointId }: AccountEndpoint): Promise<void> {
  await db.query(killPending, { accountId, endpointId });
}

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
