import { sql as fragment, type Kysely } from 'kysely';
import type { Tables } from '../database/tables.ts';
import { chatUrlPurpose } from '../domain/chat/chat-url.ts';
import { embeddingSecretPurpose } from '../domain/embedding/secrets.ts';
import { providerSecretPurpose } from '../domain/identities/providers.ts';
import { secondFactorPurpose } from '../domain/second-factor/second-factor-keys.ts';
import { buildSecretBox } from '../domain/secret-box.ts';
import { buildSigner } from '../domain/signer.ts';
import { secretPurpose } from '../domain/webhooks/webhook-secret.ts';
import { hasColumns } from './catalogs.ts';

interface EncryptedColumn {
  table: keyof Tables;
  column: string;
  /** The column with the id that `purpose` gets. A secret can be decrypted only with the purpose of its encryption. */
  owner: string;
  purpose: (owner: number) => string;
}

/** Every column with secrets that APP_KEY encrypts. */
const encryptedColumns: readonly EncryptedColumn[] = [
  { table: 'webhook_endpoints', column: 'secret', owner: 'account_id', purpose: () => secretPurpose },
  { table: 'webhook_endpoints', column: 'previous_secret', owner: 'account_id', purpose: () => secretPurpose },
  { table: 'chat_channels', column: 'url', owner: 'account_id', purpose: () => chatUrlPurpose },
  { table: 'embedding_secrets', column: 'secret', owner: 'account_id', purpose: () => embeddingSecretPurpose },
  { table: 'identity_providers', column: 'client_secret', owner: 'account_id', purpose: providerSecretPurpose },
  { table: 'second_factors', column: 'secret', owner: 'user_id', purpose: secondFactorPurpose },
];

export interface SecretCounts {
  total: number;
  decrypted: number;
}

/**
 * Counts the encrypted secrets, and the secrets that the application key decrypts. A secret from before a change of
 * APP_KEY stays in the database until somebody replaces it.
 */
export async function countSecrets(db: Kysely<Tables>, appKey: Uint8Array): Promise<SecretCounts> {
  const box = buildSecretBox(appKey);
  const counts = { total: 0, decrypted: 0 };
  for (const { table, column, owner, purpose } of encryptedColumns) {
    if (!(await hasColumns(db, table, [column, owner]))) continue;
    const rows = await db
      .selectFrom(fragment<object>`${fragment.table(table)}`.as('t'))
      .select([fragment.ref<Buffer>(column).as('secret'), fragment.ref<number>(owner).as('owner')])
      .where(fragment<boolean>`${fragment.ref(column)} is not null`)
      .execute();
    counts.total += rows.length;
    counts.decrypted += rows.filter(row => canOpen(() => box.open(row.secret, purpose(row.owner)))).length;
  }
  return counts;
}

function canOpen(open: () => void): boolean {
  try {
    open();
    return true;
  } catch {
    return false;
  }
}

/** Returns a text that identifies an application key without revealing it. */
export function fingerprintOf(appKey: Uint8Array): string {
  return buildSigner(appKey, 'key fingerprint').macOf('').toString('hex').slice(0, 16);
}
