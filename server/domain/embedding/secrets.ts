import { randomBytes } from 'node:crypto';
import { EmbeddingSecret } from '../../entities/embedding.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import type { SecretBox } from '../secret-box.ts';

/** The `purpose` argument for SecretBox when it encrypts or decrypts an embedding secret. */
export const embeddingSecretPurpose = 'embedding secret';

/** An account can have two secrets, so that its applications can change from an old secret to a new one. */
export const maxEmbeddingSecrets = 2;

/** Creates a secret and returns it in plain text. The database stores it only encrypted. */
export async function createEmbeddingSecret(
  admin: Administration,
  secretBox: SecretBox,
  accountId: number,
): Promise<string> {
  await lockAccount(admin, accountId);
  if ((await admin.em.count(EmbeddingSecret, { accountId })) >= maxEmbeddingSecrets) {
    throw new AdministrationError('conflict', t('embedding.secrets.limit', { count: maxEmbeddingSecrets }));
  }
  const secret = `ibe_${randomBytes(32).toString('base64url')}`;
  const row = admin.em.create(EmbeddingSecret, {
    accountId,
    secret: secretBox.seal(secret, embeddingSecretPurpose),
    createdAt: admin.now,
  });
  await admin.em.flush();
  admin.audit.record('embedding_secret.created', { account_id: accountId, embedding_secret_id: row.id });
  return secret;
}

export async function requireEmbeddingSecret(
  admin: Administration,
  accountId: number,
  id: number,
): Promise<EmbeddingSecret> {
  const secret = await admin.em.findOne(EmbeddingSecret, { id, accountId });
  if (!secret) throw new AdministrationError('not_found', t('embedding.secrets.gone'));
  return secret;
}

/**
 * Deletes a secret. This also ends the sessions that began with the secret, because a session is valid only as long as
 * its embedding secret exists.
 */
export async function deleteEmbeddingSecret(admin: Administration, accountId: number, id: number): Promise<void> {
  const secret = await requireEmbeddingSecret(admin, accountId, id);
  await admin.em.remove(secret).flush();
  admin.audit.record('embedding_secret.deleted', { account_id: accountId, embedding_secret_id: id });
}

export function listEmbeddingSecrets(admin: Administration, accountId: number) {
  return admin.db
    .selectFrom('embedding_secrets')
    .select(['id', 'created_at', 'last_used_at'])
    .where('account_id', '=', accountId)
    .orderBy('id')
    .execute();
}
