import type { WebhookEndpoint } from '../../entities/webhook.ts';
import type { AddressGuard } from '../../outgoing/address-guard.ts';
import { type Administration, noteFields } from '../administration.ts';
import { checkText } from '../fields.ts';
import { checkEventTypes, checkWebhookUrl, maxDescriptionLength } from './webhook-fields.ts';

export interface WebhookChanges {
  url?: string;
  description?: string;
  eventTypes?: readonly string[];
}

/** Changes an endpoint. What is on its way goes to the new URL. */
export async function updateWebhook(
  admin: Administration,
  endpoint: WebhookEndpoint,
  changes: WebhookChanges,
  guard?: AddressGuard,
) {
  const changedFields = noteFields(endpoint, ['url', 'description', 'eventTypes']);
  if (changes.url !== undefined) endpoint.url = checkWebhookUrl(changes.url, guard);
  if (changes.description !== undefined) {
    endpoint.description = checkText(changes.description, 0, maxDescriptionLength, 'description');
  }
  if (changes.eventTypes !== undefined) endpoint.eventTypes = checkEventTypes(changes.eventTypes);
  await admin.em.flush();
  const changed = changedFields();
  if (changed.length === 0) return;
  const origin = new URL(endpoint.url).origin;
  admin.audit.record('webhook.updated', { account_id: endpoint.accountId, webhook_id: endpoint.id, changed, origin });
}
