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
