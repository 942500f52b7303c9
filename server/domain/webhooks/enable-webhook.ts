import type { WebhookEndpoint } from '../../entities/webhook.ts';
import type { Administration } from '../administration.ts';

/** Sends to an endpoint again, from now on: what was given up meanwhile is sent when it is redelivered. */
export async function enableWebhook(admin: Administration, endpoint: WebhookEndpoint): Promise<void> {
  const wasDisabled = Boolean(endpoint.disabledAt);
  Object.assign(endpoint, { disabledAt: null, disabledReason: null, failingSince: null, probedUntil: null });
  await admin.em.flush();
  if (wasDisabled) {
    admin.audit.record('webhook.enabled', { account_id: endpoint.accountId, webhook_id: endpoint.id });
  }
}
