import { type Arguments, query } from '../../database/query.ts';
import { ApiToken } from '../../entities/api-token.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** Revokes a token of an account for good. Its votes stay counted (Vote). A revoked token stays as it is. */
export async function revokeToken(admin: Administration, accountId: number, tokenId: number): Promise<void> {
  const token = await admin.em.findOne(ApiToken, { id: tokenId, accountId });
  if (!token) throw new AdministrationError('not_found', `The account has no token ${tokenId}`);
  if (token.revokedAt) return;
  token.revokedAt = admin.now;
  await admin.em.flush();
  admin.audit.record('token.revoked', { account_id: accountId, token_id: tokenId });
}

const revokeOfIssuer = query(
  'revoke_tokens_of_issuer',
  (db, $: Arguments<{ accountId: number; userId: number; kinds: readonly ApiToken['kind'][]; now: Date }>) =>
    db
      .updateTable('api_tokens')
      .set({ revoked_at: $.now })
      .where('account_id', '=', $.accountId)
      .where('issuer_id', '=', $.userId)
      .where(token => token('kind', '=', token.fn.any($.kinds)))
      .where('revoked_at', 'is', null)
      .returning('id'),
);

/**
 * Revokes the tokens that a user issued in an account: grants of OAuth, which act as the person, or those of the API too,
 * which belong to the account. The account is locked, as it is where tokens are made.
 */
export async function revokeTokensOf(
  admin: Administration,
  { accountId, userId }: { accountId: number; userId: number },
  kinds: readonly ApiToken['kind'][],
): Promise<void> {
  const revoked = await admin.query(revokeOfIssuer, { accountId, userId, kinds, now: admin.now });
  for (const { id } of revoked) admin.audit.record('token.revoked', { account_id: accountId, token_id: id });
}
