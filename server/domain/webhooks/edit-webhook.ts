import { type EventType, eventTypes } from '../../../contract/events.ts';
import { defaultOverlapHours, maxOverlapHours, maxWebhooks } from '../../../contract/limits.ts';
import { Board } from '../../entities/board.ts';
import { WebhookEndpoint } from '../../entities/webhook.ts';
import { type AddressGuard, problemOfUrl } from '../../outgoing/address-guard.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError, noteFields } from '../administration.ts';
import { checkEventTypes, checkText, quote } from '../fields.ts';
import type { SecretBox } from '../secret-box.ts';
import { stopEndpoint } from './disable-endpoint.ts';
import { makeWebhookSecret, secretPurpose } from './webhook-secret.ts';

/** Finds an endpoint of an account. If a board is given, finds the endpoint only if it belongs to this board. */
export async function requireWebhook(
  admin: Administration,
  accountId: number,
  id: number,
  boardId?: number,
): Promise<WebhookEndpoint> {
  const endpoint = await admin.em.findOne(WebhookEndpoint, { id, accountId, ...(boardId ? { boardId } : {}) });
  if (!endpoint) throw unknownWebhook(id);
  return endpoint;
}

export function unknownWebhook(id: number) {
  return new AdministrationError('not_found', t('refusals.webhook.unknown', { id }));
}

interface WebhookFields {
  url: string;
  description?: string;
  /**
   * The event types that the endpoint receives. If the list is empty or undefined, the endpoint receives every type except idea.voted.
   */
  eventTypes?: readonly string[];
}

export interface NewWebhook extends WebhookFields {
  accountId: number;
  /** The board whose events the endpoint receives. Null for all boards of the account. */
  boardId: number | null;
  /** The token that creates the endpoint. By default, a person creates it. */
  tokenId?: number | null;
}

/** Creates a webhook. Only the result has the plain-text secret, because the database stores the secret encrypted. */
export async function createWebhook(
  admin: Administration,
  secretBox: SecretBox,
  { accountId, boardId, tokenId = null, url, description = '', eventTypes = [] }: NewWebhook,
  guard?: AddressGuard,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  if (boardId !== null && (await admin.em.count(Board, { id: boardId, accountId })) === 0) {
    throw new AdministrationError('not_found', t('refusals.webhook.unknown_board'));
  }
  await lockAccount(admin, accountId);
  if ((await admin.em.count(WebhookEndpoint, { accountId })) >= maxWebhooks) {
    throw new AdministrationError('conflict', t('refusals.webhook.limit', { max: maxWebhooks }), {
      key: 'too_many_webhooks',
    });
  }
  const secret = makeWebhookSecret();
  const endpoint = admin.em.create(WebhookEndpoint, {
    accountId,
    boardId,
    tokenId,
    url: checkUrl(url, guard),
    description: checkDescription(description),
    eventTypes: checkTypes(eventTypes),
    secret: secretBox.seal(secret, secretPurpose),
    createdAt: admin.now,
  });
  await admin.em.flush();
  admin.audit.record('webhook.created', { ...describe(endpoint), board_id: boardId, origin: originOf(endpoint) });
  return { endpoint, secret };
}

/** Changes an endpoint. If the URL changes, the server also sends pending deliveries to the new URL. */
export async function updateWebhook(
  admin: Administration,
  endpoint: WebhookEndpoint,
  { url, description, eventTypes }: Partial<WebhookFields>,
  guard?: AddressGuard,
) {
  const changedFields = noteFields(endpoint, ['url', 'description', 'eventTypes']);
  if (url !== undefined) endpoint.url = checkUrl(url, guard);
  if (description !== undefined) endpoint.description = checkDescription(description);
  if (eventTypes !== undefined) endpoint.eventTypes = checkTypes(eventTypes);
  await admin.em.flush();
  const changed = changedFields();
  if (changed.length === 0) return;
  admin.audit.record('webhook.updated', { ...describe(endpoint), changed, origin: originOf(endpoint) });
}

/**
 * Enables an endpoint for future events. Dead deliveries (failed for good) stay dead until somebody redelivers them.
 */
export async function enableWebhook(admin: Administration, endpoint: WebhookEndpoint): Promise<void> {
  const wasDisabled = Boolean(endpoint.disabledAt);
  Object.assign(endpoint, { disabledAt: null, disabledReason: null, failingSince: null, probedUntil: null });
  await admin.em.flush();
  if (wasDisabled) admin.audit.record('webhook.enabled', describe(endpoint));
}

const maxReasonLength = 300;

/** Disables an endpoint. If the endpoint was already disabled, it keeps its earlier reason. */
export async function disableWebhook(admin: Administration, endpoint: WebhookEndpoint, reason: string): Promise<void> {
  const { accountId, id: endpointId } = endpoint;
  const checked = checkText(reason, 1, maxReasonLength, 'reason');
  if (!(await stopEndpoint(admin, { accountId, endpointId }, checked))) return;
  admin.audit.record('webhook.disabled', { ...describe(endpoint), reason: 'administrator' });
}

export async function deleteWebhook(admin: Administration, endpoint: WebhookEndpoint): Promise<void> {
  const { accountId, id } = endpoint;
  await admin.db
    .deleteFrom('webhook_endpoints')
    .where(w => w.and({ account_id: accountId, id }))
    .returning('id')
    .executeTakeFirstOrThrow(() => unknownWebhook(id));
  admin.audit.record('webhook.deleted', describe(endpoint));
}

/**
 * Replaces the secret of an endpoint and returns the new secret. For the given number of hours, the server signs each
 * delivery twice: with the new secret and with the old secret. So the receiver can switch to the new secret without
 * rejecting any delivery. With 0 hours, the old secret expires immediately.
 *
 * If two rotations run at the same time, the second waits for the first. It keeps the new secret of the first rotation
 * as the old secret. So the server signs deliveries with both new secrets.
 */
export async function rotateWebhookSecret(
  admin: Administration,
  secretBox: SecretBox,
  endpoint: WebhookEndpoint,
  overlapHours = defaultOverlapHours,
): Promise<string> {
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > maxOverlapHours) {
    throw new AdministrationError('invalid', t('refusals.webhook.overlap', { max: maxOverlapHours }));
  }
  const { accountId, id } = endpoint;
  const secret = makeWebhookSecret();
  const hasOverlap = overlapHours > 0;
  await admin.db
    .updateTable('webhook_endpoints')
    .set(w => ({
      secret: secretBox.seal(secret, secretPurpose),
      previous_secret: hasOverlap ? w.ref('secret') : null,
      previous_secret_expires_at: hasOverlap ? new Date(admin.now.getTime() + overlapHours * 3_600_000) : null,
    }))
    .where(w => w.and({ account_id: accountId, id }))
    .returning('id')
    .executeTakeFirstOrThrow(() => unknownWebhook(id));
  admin.audit.record('webhook.secret_rotated', { ...describe(endpoint), overlap_hours: overlapHours });
  return secret;
}

const maxUrlLength = 2_000;

/**
 * Rejects an invalid URL and a URL with a blocked IP address. If the URL contains a host name, the server checks the
 * host's IP address each time it connects.
 */
function checkUrl(value: string, guard?: AddressGuard): string {
  const url = value.trim();
  const subject = t('refusals.url.named', { url: quote(url) });
  if (url.length > maxUrlLength) {
    throw new AdministrationError('invalid', t('refusals.url.too_long', { subject, max: maxUrlLength }), {
      field: 'url',
    });
  }
  const problem = problemOfUrl(url, guard);
  if (problem) throw new AdministrationError('invalid', t(`refusals.url.${problem}`, { subject }), { field: 'url' });
  return url;
}

const checkDescription = (description: string) => checkText(description, 0, 200, 'description');

const checkTypes = (types: readonly string[]): EventType[] => checkEventTypes(types, eventTypes);

const describe = ({ accountId, id }: WebhookEndpoint) => ({ account_id: accountId, webhook_id: id });

const originOf = ({ url }: WebhookEndpoint) => new URL(url).origin;
