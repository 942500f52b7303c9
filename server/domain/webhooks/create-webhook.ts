import { Board } from '../../entities/board.ts';
import { WebhookEndpoint } from '../../entities/webhook.ts';
import type { AddressGuard } from '../../outgoing/address-guard.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { checkText } from '../fields.ts';
import type { SecretBox } from '../secret-box.ts';
import { checkEventTypes, checkWebhookUrl, maxDescriptionLength } from './webhook-fields.ts';
import { makeWebhookSecret, secretPurpose } from './webhook-secret.ts';

export interface NewWebhook {
  accountId: number;
  /** Null: every board of the account. */
  boardId: number | null;
  url: string;
  description?: string;
  /** None: every type. */
  eventTypes?: readonly string[];
}

/** Whatever happens in an account is told to each of them: with more, one event would make the others wait. */
const maxWebhooks = 100;

/**
 * Registers an endpoint for the events of a board or of a whole account. The secret is in the answer and nowhere else:
 * the database has it encrypted.
 */
export async function createWebhook(
  admin: Administration,
  secretBox: SecretBox,
  input: NewWebhook,
  guard?: AddressGuard,
): Promise<{ endpoint: WebhookEndpoint; secret: string }> {
  const { accountId, boardId } = input;
  if (boardId !== null && (await admin.em.count(Board, { id: boardId, accountId })) === 0) {
    throw new AdministrationError('not_found', 'The board is not one of the account');
  }
  await lockAccount(admin, accountId);
  if ((await admin.em.count(WebhookEndpoint, { accountId })) >= maxWebhooks) {
    throw new AdministrationError('conflict', `The account has ${maxWebhooks} webhooks already: delete one first`);
  }
  const secret = makeWebhookSecret();
  const endpoint = admin.em.create(WebhookEndpoint, {
    accountId,
    boardId,
    url: checkWebhookUrl(input.url, guard),
    description: checkText(input.description ?? '', 0, maxDescriptionLength, 'description'),
    eventTypes: checkEventTypes(input.eventTypes ?? []),
    secret: secretBox.seal(secret, secretPurpose),
    createdAt: admin.now,
  });
  await admin.em.flush();
  admin.audit.record('webhook.created', {
    account_id: accountId,
    webhook_id: endpoint.id,
    board_id: boardId,
    origin: new URL(endpoint.url).origin,
  });
  return { endpoint, secret };
}
