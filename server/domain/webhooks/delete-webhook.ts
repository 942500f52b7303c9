import type { WebhookEndpoint } from '../../entities/webhook.ts';
import type { Administration } from '../administration.ts';

/** Deletes an endpoint with the log of its deliveries. */
export async function deleteWebhook(admin: Administration, endpoint: WebhookEndpoint): Promise<void> {
  const { accountId, id } = endpoint;
  admin.em.remove(endpoint);
  await admin.em.flush();
  admin.audit.record('webhook.deleted', { account_id: accountId, webhook_id: id });
}
