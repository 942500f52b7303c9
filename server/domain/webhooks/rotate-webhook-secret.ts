import type { WebhookEndpoint } from '../../entities/webhook.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import type { SecretBox } from '../secret-box.ts';
import { makeWebhookSecret, secretPurpose } from './webhook-secret.ts';

export const defaultOverlapHours = 24;
export const maxOverlapHours = 24 * 30;

/**
 * Gives an endpoint a new secret, which is in the answer and nowhere else. The one before signs too for a number of
 * hours, so that the receiver can change over without refusing anything; with 0 it ends at once.
 */
export async function rotateWebhookSecret(
  admin: Administration,
  secretBox: SecretBox,
  endpoint: WebhookEndpoint,
  overlapHours = defaultOverlapHours,
): Promise<string> {
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > maxOverlapHours) {
    throw new AdministrationError('invalid', `The hours must be a whole number from 0 to ${maxOverlapHours}`);
  }
  const secret = makeWebhookSecret();
  const previous = overlapHours > 0 ? endpoint.secret : null;
  Object.assign(endpoint, {
    secret: secretBox.seal(secret, secretPurpose),
    previousSecret: previous,
    previousSecretExpiresAt: previous && new Date(admin.now.getTime() + overlapHours * 3_600_000),
  });
  await admin.em.flush();
  admin.audit.record('webhook.secret_rotated', {
    account_id: endpoint.accountId,
    webhook_id: endpoint.id,
    overlap_hours: overlapHours,
  });
  return secret;
}
