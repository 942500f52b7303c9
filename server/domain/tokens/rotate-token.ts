import { type Arguments, query } from '../../database/query.ts';
import { ApiToken } from '../../entities/api-token.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { mayManage, readActiveRole } from '../members/authority.ts';
import { makeSecret } from '../sign-in/secret-text.ts';
import { passedNoticeDays } from './expiry-notices.ts';
import { formatToken } from './token-text.ts';

export const defaultOverlapHours = 24;
export const maxOverlapHours = 24 * 7;

const hourMs = 3_600_000;

/**
 * How a rotation treats the secrets of the token:
 * - With `overlapHours`, the current secret becomes the old secret, and stays valid for this number of hours.
 * - With `replacesNewest`, the rotation replaces the newest secret and keeps the old one.
 * While an old secret is valid, only a rotation with `replacesNewest` is possible. So programs do not lose the secret
 * that they still use, and a token has at most two valid secrets.
 */
export type Rotation = ({ overlapHours: number } | { replacesNewest: true }) & {
  /**
   * The token's new time of expiry, or null if the token shall not expire. By default, the token keeps its present
   * expiry.
   */
  expiresAt?: Date | null | undefined;
};

/**
 * Gives a token a new secret. Returns the new plaintext of the token, which is shown only once. The token keeps its id,
 * voter, boards and rate limit counters. If two rotations with `overlapHours` run at the same time, the second waits
 * for the lock of the first. It then fails, because the old secret is still valid.
 */
export async function rotateToken(
  admin: Administration,
  accountId: number,
  tokenId: number,
  rotation: Rotation,
): Promise<string> {
  const token = await lockToken(admin, accountId, tokenId);
  if (token.kind !== 'api') throw new AdministrationError('conflict', t('refusals.token.oauth_rotation'));
  await requireSecretRights(admin, accountId, token.issuerId);
  const expiresAt = rotation.expiresAt === undefined ? token.expiresAt : rotation.expiresAt;
  if (expiresAt && expiresAt <= admin.now) throw new AdministrationError('invalid', t('refusals.token.expired'));
  if ('replacesNewest' in rotation) {
    if (!hasOldSecret(admin, token)) throw new AdministrationError('conflict', t('refusals.token.no_old_secret'));
  } else {
    keepOldSecret(admin, token, rotation.overlapHours, expiresAt ?? null);
  }
  const secret = makeSecret();
  token.secretHash = secret.hash;
  if (expiresAt?.getTime() !== token.expiresAt?.getTime()) {
    token.expiresAt = expiresAt ?? null;
    token.expiryNoticeDays = passedNoticeDays(token.expiresAt, admin.now);
  }
  await admin.em.flush();
  admin.audit.record('token.rotated', {
    account_id: accountId,
    token_id: tokenId,
    overlap_ends_at: token.previousSecretExpiresAt?.toISOString() ?? null,
    expires_at: token.expiresAt?.toISOString() ?? null,
  });
  return formatToken({ id: tokenId, secret: secret.text });
}

/**
 * Refuses a person who may not see a secret of the issuer's tokens. With the secret, the person acts as the issuer, also
 * after the person has left the account. So an admin may not rotate the token of an owner.
 */
async function requireSecretRights(admin: Administration, accountId: number, issuerId: number): Promise<void> {
  const userId = actingUserOf(admin);
  if (userId === null || userId === issuerId) return;
  const own = await readActiveRole(admin, { accountId, userId });
  const role = await readActiveRole(admin, { accountId, userId: issuerId });
  if (own && mayManage(own, role ?? 'member')) return;
  throw new AdministrationError('forbidden', t('refusals.token.foreign_rotation'));
}

/**
 * Keeps the current secret as the old secret. The old secret never works longer than it would have worked without the
 * rotation.
 */
function keepOldSecret(admin: Administration, token: ApiToken, overlapHours: number, expiresAt: Date | null) {
  if (!Number.isInteger(overlapHours) || overlapHours < 0 || overlapHours > maxOverlapHours) {
    throw new AdministrationError('invalid', t('refusals.token.overlap', { max: maxOverlapHours }));
  }
  if (hasOldSecret(admin, token)) throw new AdministrationError('conflict', t('refusals.token.in_overlap'));
  const ends = [token.expiresAt, expiresAt].filter(end => end != null).map(end => end.getTime());
  const end = new Date(Math.min(admin.now.getTime() + overlapHours * hourMs, ...ends));
  const isKept = end > admin.now;
  token.previousSecretHash = isKept ? token.secretHash : null;
  token.previousSecretExpiresAt = isKept ? end : null;
}

/** Ends the validity of the old secret of a token. Then only the newest secret of the token works. */
export async function endOldSecret(admin: Administration, accountId: number, tokenId: number): Promise<void> {
  const token = await lockToken(admin, accountId, tokenId);
  if (!hasOldSecret(admin, token)) return;
  Object.assign(token, { previousSecretHash: null, previousSecretExpiresAt: null });
  await admin.em.flush();
  admin.audit.record('token.old_secret_ended', { account_id: accountId, token_id: tokenId });
}

function hasOldSecret({ now }: Administration, { previousSecretExpiresAt: end }: ApiToken): boolean {
  return end != null && end > now;
}

const selectTokenLocked = query('lock_token_to_change', (db, $: Arguments<{ accountId: number; tokenId: number }>) =>
  db
    .selectFrom('api_tokens as t')
    .select('t.id')
    .where(t => t.and({ 't.account_id': $.accountId, 't.id': $.tokenId }))
    .forNoKeyUpdate('t'),
);

/** Locks a token before a change. Throws if the token is revoked or does not exist. */
export async function lockToken(admin: Administration, accountId: number, tokenId: number): Promise<ApiToken> {
  const [row] = await admin.query(selectTokenLocked, { accountId, tokenId });
  if (!row) throw new AdministrationError('not_found', t('refusals.token.unknown', { id: tokenId }));
  const token = await admin.em.findOneOrFail(ApiToken, { accountId, id: tokenId }, { refresh: true });
  if (token.revokedAt) throw new AdministrationError('conflict', t('refusals.token.revoked'));
  return token;
}
