import type { Kysely } from 'kysely';
import { requireAppKey } from '../../app-key.ts';
import { type Config, ConfigError } from '../../config.ts';
import type { Tables } from '../../database/tables.ts';
import { chatUrlPurpose } from '../../domain/chat/chat-url.ts';
import { buildSecretBox } from '../../domain/secret-box.ts';
import { secretPurpose } from '../../domain/webhooks/webhook-secret.ts';
import { error, type Finding, ok, warning } from './finding.ts';

/** Checks that APP_KEY decrypts the stored secrets. With a wrong key, deliveries to webhooks and chats fail. */
export async function diagnoseAppKey(db: Kysely<Tables>, config: Config): Promise<Finding> {
  const secrets = await selectNewestSecrets(db);
  if (secrets.length === 0) return ok('No webhook or chat has a secret yet');
  let key: Buffer;
  try {
    key = await requireAppKey(config);
  } catch (failure) {
    if (!(failure instanceof ConfigError)) throw failure;
    return warning('The secrets of webhooks and chats cannot be checked: there is no APP_KEY', failure.message);
  }
  const box = buildSecretBox(key);
  for (const { sealed, purpose } of secrets) {
    try {
      box.open(sealed, purpose);
    } catch {
      return error(
        'APP_KEY does not decrypt the secrets of webhooks and chats, so every delivery fails',
        'Set the previous key of the servers; if it is lost, rotate the secret of each webhook and add the chats again',
      );
    }
  }
  return ok('APP_KEY decrypts the secrets of webhooks and chats');
}

/**
 * Reads the secret of the newest webhook and the URL of the newest chat channel. Does not check older secrets. An older
 * secret may be encrypted with a former key, and the deliveries that need this secret already fail.
 */
async function selectNewestSecrets(db: Kysely<Tables>) {
  const newest = await db
    .selectNoFrom([
      db.selectFrom('webhook_endpoints').select('secret').orderBy('id', 'desc').limit(1).as('webhook'),
      db.selectFrom('chat_channels').select('url').orderBy('id', 'desc').limit(1).as('chat'),
    ])
    .executeTakeFirstOrThrow();
  return [
    { sealed: newest.webhook, purpose: secretPurpose },
    { sealed: newest.chat, purpose: chatUrlPurpose },
  ].flatMap(({ sealed, purpose }) => (sealed === null ? [] : [{ sealed, purpose }]));
}
