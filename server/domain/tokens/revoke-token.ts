import { statement } from '../../database/statement.ts';
import { ApiToken } from '../../entities/api-token.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** Revokes a token of an account for good. Its votes stay counted (Vote). One that is revoked changes nothing. */
export async function revokeToken(admin: Administration, accountId: number, tokenId: number): Promise<void> {
  const token = await admin.em.findOne(ApiToken, { id: tokenId, accountId });
  if (!token) throw new AdministrationError('not_found', `The account has no token ${tokenId}`);
  if (token.revokedAt) return;
  token.revokedAt = admin.now;
  await admin.em.flush();
  admin.audit.record('token.revoked', { account_id: accountId, token_id: tokenId });
}

const revokeOfIssuer = statement<{ id: number }>(
  'revoke_tokens_of_issuer',
  `update api_tokens set revoked_at = $4
  where account_id = $1 and issuer_id = $2 and kind = any ($3) and revoked_at is null
  returning id`,
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
  const revoked = await admin.query(revokeOfIssuer, [accountId, userId, kinds, admin.now]);
  for (const { id } of revoked) admin.audit.record('token.revoked', { account_id: accountId, token_id: id });
}
