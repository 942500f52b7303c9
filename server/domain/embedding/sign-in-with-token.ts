import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { AuditActor } from '../../observability/audit-entries.ts';
import type { Administration } from '../administration.ts';
import { type MayMail, signInWithIdentity } from '../identities/sign-in-with-identity.ts';
import type { SecretBox } from '../secret-box.ts';
import type { SessionTerms } from '../sign-in/session.ts';
import { embeddingSecretPurpose } from './secrets.ts';
import { type TokenProblem, type VerifiedToken, verifyToken } from './verify-token.ts';

const selectSecrets = query('select_embedding_secrets', (db, $: Arguments<{ accountId: number }>) =>
  db.selectFrom('embedding_secrets').select(['id', 'secret']).where('account_id', '=', $.accountId),
);

/** Verifies a sign-in token with the secrets of an account. Does not check whether the token was already used. */
export async function readToken(
  db: Queryable,
  secretBox: SecretBox,
  token: string,
  { accountId, ...expected }: { accountId: number; audience: string; now: Date },
): Promise<VerifiedToken | TokenProblem> {
  const rows = await db.query(selectSecrets, { accountId });
  const secrets = rows.map(({ id, secret }) => ({ id, secret: secretBox.open(secret, embeddingSecretPurpose) }));
  return verifyToken(token, secrets, expected);
}

interface UsedToken {
  accountId: number;
  hash: Buffer;
  expiresAt: Date;
}

/**
 * Only the first of several parallel requests with the same token inserts the row. The other requests wait until the
 * first one commits, and then insert nothing.
 */
const insertUsedToken = query('insert_used_embedding_token', (db, $: Arguments<UsedToken>) =>
  db
    .insertInto('used_embedding_tokens')
    .values({ account_id: $.accountId, token_hash: $.hash, expires_at: $.expiresAt })
    .onConflict(conflict => conflict.doNothing())
    .returning('account_id'),
);

const noteSecret = query(
  'note_embedding_secret_use',
  (db, $: Arguments<{ accountId: number; secretId: number; now: Date }>) =>
    db
      .updateTable('embedding_secrets')
      .set({ last_used_at: $.now })
      .where(secret => secret.and({ account_id: $.accountId, id: $.secretId }))
      .where(secret =>
        secret.or([
          secret('last_used_at', 'is', null),
          secret('last_used_at', '<=', sql<string>`${$.now}::timestamptz - interval '1 minute'`),
        ]),
      ),
);

/**
 * The row of a used token is kept longer than the token is valid, because the clocks of servers and of the database may
 * differ.
 */
const keptMs = 300_000;

/**
 * Signs in the person that a verified token names. The session opens only the embedded pages of the account's boards,
 * and ends when the secret is deleted. Call this in a transaction that commits even if the result is a refusal, so that
 * nobody can use a token twice.
 */
export async function signInWithToken(
  adminAs: (actor: AuditActor) => Administration,
  { accountId, user, secretId, hash, expiresAt }: VerifiedToken & { accountId: number },
  terms: SessionTerms,
  mayMail: MayMail,
) {
  const server = adminAs({ by: 'server' });
  const keptUntil = new Date(expiresAt.getTime() + keptMs);
  const [first] = await server.query(insertUsedToken, { accountId, hash, expiresAt: keptUntil });
  if (!first) return 'used' as const;
  await server.query(noteSecret, { accountId, secretId, now: server.now });
  const asserted = {
    accountId,
    providerId: null,
    subject: user.subject,
    address: user.email,
    // The address counts as verified, because the account is responsible for its correctness. The address gives no
    // access to other accounts.
    isAddressVerified: true,
    name: user.name,
    isAdmitted: true,
  };
  return signInWithIdentity(adminAs, asserted, { ...terms, embeddingSecretId: secretId }, mayMail);
}
