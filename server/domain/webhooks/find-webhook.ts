import { WebhookEndpoint } from '../../entities/webhook.ts';
import { type Administration, AdministrationError } from '../administration.ts';

export async function requireWebhook(
  admin: Administration,
  accountId: number,
  endpointId: number,
): Promise<WebhookEndpoint> {
  const endpoint = await admin.em.findOne(WebhookEndpoint, { id: endpointId, accountId });
  if (!endpoint) throw new AdministrationError('not_found', `The account has no webhook ${endpointId}`);
  return endpoint;
}

/** An endpoint that is sent to. */
export async function requireEnabledWebhook(
  admin: Administration,
  accountId: number,
  endpointId: number,
): Promise<WebhookEndpoint> {
  const endpoint = await requireWebhook(admin, accountId, endpointId);
  if (endpoint.disabledAt === null || endpoint.disabledAt === undefined) return endpoint;
  throw new AdministrationError('conflict', `The webhook ${endpointId} is disabled: enable it first`);
}
