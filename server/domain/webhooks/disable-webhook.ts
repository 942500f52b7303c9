import { killPendingDeliveries } from '../../delivery/webhooks/disable-endpoint.ts';
import type { WebhookEndpoint } from '../../entities/webhook-endpoint.ts';
import type { Administration } from '../administration.ts';
import { checkText } from '../fields.ts';

const maxReasonLength = 300;

/** Sends nothing more to an endpoint, and gives up what is on its way. One that is disabled keeps its reason. */
export async function disableWebhook(admin: Administration, endpoint: WebhookEndpoint, reason: string): Promise<void> {
  const disabledReason = checkText(reason, 1, maxReasonLength, 'reason');
  if (endpoint.disabledAt) return;
  Object.assign(endpoint, { disabledAt: admin.now, disabledReason });
  await admin.em.flush();
  const { accountId, id } = endpoint;
  await killPendingDeliveries(admin, { accountId, endpointId: id });
  admin.audit.record('webhook.disabled', { account_id: accountId, webhook_id: id, reason: 'administrator' });
}
