import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { WebhookEndpoint } from '../../entities/webhook.ts';
import type { Administration } from '../administration.ts';
import { checkText } from '../fields.ts';
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
