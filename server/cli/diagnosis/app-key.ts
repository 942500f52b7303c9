import type pg from 'pg';
import { requireAppKey } from '../../app-key.ts';
import { type Config, ConfigError } from '../../config.ts';
import { chatUrlPurpose } from '../../events/chat/chat-url.ts';
import { buildSecretBox } from '../../events/secret-box.ts';
import { secretPurpose } from '../../events/webhooks/signature.ts';
import { error, type Finding, ok, warning } from './finding.ts';

interface SealedSecret {
  sealed: Buffer;
  is_webhook: boolean;
}

/** The newest of each kind: after a change of the key, whoever made a new one already sees the older ones fail. */
const selectSecrets = `
  (select secret as sealed, true as is_webhook from webhook_endpoints order by id desc limit 1)
  union all
  (select url, false from chat_channels order by id desc limit 1)`;

/** Whether the application key opens what is sealed in the database: with another one every delivery fails. */
export async function diagnoseAppKey(client: pg.Client, config: Config): Promise<Finding> {
  const { rows } = await client.query<SealedSecret>(selectSecrets);
  if (rows.length === 0) return ok('No webhook or chat has a secret yet that APP_KEY would have to open');
  let key: Buffer;
  try {
    key = await requireAppKey(config);
  } catch (failure) {
    if (!(failure instanceof ConfigError)) throw failure;
    return warning('The secrets of webhooks and chats could not be tried: there is no APP_KEY', failure.message);
  }
  const box = buildSecretBox(key);
  for (const { sealed, is_webhook } of rows) {
    try {
      box.open(sealed, is_webhook ? secretPurpose : chatUrlPurpose);
    } catch {
      return error(
        'APP_KEY is not the key with which the secrets of webhooks and chats were encrypted: none can be delivered to',
        'Set the key that the servers had before; if it is lost, rotate the secret of each webhook and add the chats anew',
      );
    }
  }
  return ok('APP_KEY opens the secrets of webhooks and chats');
}
