import type { Capability, Grant } from '../../../contract/grants.ts';
import { maxBoardsOfToken } from '../../../contract/limits.ts';
import { type Arguments, query } from '../../database/query.ts';
import { ApiToken, ApiTokenBoard } from '../../entities/api-token.ts';
import { Board } from '../../entities/board.ts';
import { Voter } from '../../entities/idea.ts';
import { t } from '../../text/catalogue.ts';
import { requireLockedAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError, noteFields } from '../administration.ts';
import { checkName } from '../fields.ts';
import { isBlocked, type UserInAccount } from '../members/authority.ts';
import { makeSecret } from '../sign-in/secret-text.ts';
import { passedNoticeDays } from './expiry-notices.ts';
import type { Restrictions } from './restrictions.ts';
import { lockToken } from './rotate-token.ts';
import { formatToken } from './token-text.ts';

export interface NewToken {
  accountId: number;
  issuerId: number;
  name: string;
  boards: { boardId: number; grant: Grant }[];
  /** The capabilities of the token. The default is no capability. */
  capabilities?: readonly Capability[];
  expiresAt?: Date | null;
  /**
   * The token's own rate limits and its allowed networks, from checkRestrictions. By default, the token has no
   * restrictions.
   */
  restrictions?: Restrictions | undefined;
  /** The kind of the token. The default is 'api'. */
  kind?: ApiToken['kind'];
}

/** A new token with its plaintext. The plaintext is shown only once. */
interface IssuedToken {
  token: ApiToken;
  plaintext: string;
}

/**
 * Creates a token for some boards of an account (specification: Token; Authentication, 8 and 11). The issuer must be an
 * owner or admin, and the account's plan must include the Agent API.
 *
 * The function locks the account. An erasure of the account takes the same lock, and so does a change that removes,
 * demotes or blocks the issuer. So none of these changes can happen between the checks and the creation of the token.
 */
export async function createToken(
  admin: Administration,
  input: NewToken,
  plansWithoutAgentApi: readonly string[] = [],
): Promise<IssuedToken> {
  const name = checkName(input.name, 100);
  const { plan } = await requireLockedAccount(admin, input.accountId);
  if (plan !== 'community' && plansWithoutAgentApi.includes(plan)) {
    throw new AdministrationError('forbidden', t('refusals.token.plan', { plan }));
  }
  await checkIssuer(admin, input);
  await checkBoards(admin, input);
  if (input.expiresAt && input.expiresAt <= admin.now) {
    throw new AdministrationError('invalid', t('refusals.token.expired'));
  }
  return insertToken(admin, { ...input, name });
}

/**
 * Stores a token with its own voter, without any checks. Only the result contains the plaintext, because the database
 * stores the SHA-256 of the secret.
 */
async function insertToken(admin: Administration, input: NewToken): Promise<IssuedToken> {
  const voter = admin.em.create(Voter, { accountId: input.accountId });
  await admin.em.flush();
  const secret = makeSecret();
  const token = admin.em.create(ApiToken, {
    accountId: input.accountId,
    issuerId: input.issuerId,
    voterId: voter.id,
    kind: input.kind ?? 'api',
    name: input.name,
    capabilities: [...new Set(input.capabilities)],
    secretHash: secret.hash,
    expiresAt: input.expiresAt ?? null,
    expiryNoticeDays: passedNoticeDays(input.expiresAt, admin.now),
    ...input.restrictions,
    createdAt: admin.now,
  });
  await admin.em.flush();
  for (const { boardId, grant } of input.boards) {
    admin.em.create(ApiTokenBoard, { accountId: token.accountId, tokenId: token.id, boardId, level: grant });
  }
  await admin.em.flush();
  admin.audit.record('token.created', {
    account_id: token.accountId,
    token_id: token.id,
    kind: token.kind,
    user_id: token.issuerId,
    boards: input.boards.map(({ boardId, grant }) => ({ board_id: boardId, level: grant })),
    capabilities: token.capabilities,
    expires_at: input.expiresAt?.toISOString() ?? null,
  });
  return { token, plaintext: formatToken({ id: token.id, secret: secret.text }) };
}

/**
 * Locks the issuer's membership, so that an erasure of the issuer waits until the token is created. Such an erasure
 * locks the memberships of the user, but not the account.
 */
const selectIssuer = query('select_token_issuer', (db, $: Arguments<UserInAccount>) =>
  db
    .selectFrom('memberships as m')
    .select(['m.role', isBlocked($.accountId, $.userId).as('is_blocked')])
    .where(m => m.and({ 'm.account_id': $.accountId, 'm.user_id': $.userId }))
    .forKeyShare('m'),
);

async function checkIssuer(admin: Administration, { accountId, issuerId }: NewToken) {
  const [issuer] = await admin.query(selectIssuer, { accountId, userId: issuerId });
  if (issuer?.is_blocked) throw new AdministrationError('forbidden', t('refusals.token.blocked_issuer'));
  if (issuer?.role === 'owner' || issuer?.role === 'admin') return;
  throw new AdministrationError('forbidden', t('refusals.token.low_role'));
}

async function checkBoards(admin: Administration, { accountId, boards }: NewToken) {
  if (boards.length === 0) throw new AdministrationError('invalid', t('refusals.token.no_board'));
  if (boards.length > maxBoardsOfToken) {
    throw new AdministrationError('invalid', t('refusals.token.too_many_boards', { max: maxBoardsOfToken }));
  }
  const ids = new Set(boards.map(({ boardId }) => boardId));
  if (ids.size < boards.length) throw new AdministrationError('invalid', t('refusals.token.board_twice'));
  const found = await admin.em.count(Board, { accountId, id: { $in: [...ids] } });
  if (found < ids.size) throw new AdministrationError('not_found', t('refusals.token.unknown_board'));
}

/** Changes a token's own rate limits and its allowed networks. `restrictions` must be a result of checkRestrictions. */
export async function restrictToken(
  admin: Administration,
  accountId: number,
  tokenId: number,
  restrictions: Restrictions,
): Promise<void> {
  const token = await lockToken(admin, accountId, tokenId);
  const listChanged = noteFields(token, ['readLimit', 'writeLimit', 'allowedNetworks']);
  Object.assign(token, restrictions);
  await admin.em.flush();
  const changed = listChanged();
  if (changed.length > 0) admin.audit.record('token.updated', { account_id: accountId, token_id: tokenId, changed });
}

/** Revokes a token with all its secrets. The votes of the token still count. */
export async function revokeToken(admin: Administration, accountId: number, tokenId: number): Promise<void> {
  const token = await admin.em.findOne(ApiToken, { id: tokenId, accountId });
  if (!token) throw new AdministrationError('not_found', t('refusals.token.unknown', { id: tokenId }));
  if (token.revokedAt) return;
  token.revokedAt = admin.now;
  await admin.em.flush();
  admin.audit.record('token.revoked', { account_id: accountId, token_id: tokenId });
}

const revokeOfIssuer = query(
  'revoke_tokens_of_issuer',
  (db, $: Arguments<UserInAccount & { kinds: readonly ApiToken['kind'][]; now: Date }>) =>
    db
      .updateTable('api_tokens')
      .set({ revoked_at: $.now })
      .where(t => t.and({ account_id: $.accountId, issuer_id: $.userId, kind: t.fn.any($.kinds), revoked_at: null }))
      .returning('id'),
);

/**
 * Revokes the tokens of the given kinds that a user issued in an account. OAuth tokens act in the user's name, and API
 * tokens belong to the account. The caller must hold the lock of the account, so that no other transaction can create a
 * token meanwhile.
 */
export async function revokeTokensOf(
  admin: Administration,
  { accountId, userId }: UserInAccount,
  kinds: readonly ApiToken['kind'][],
): Promise<void> {
  const revoked = await admin.query(revokeOfIssuer, { accountId, userId, kinds, now: admin.now });
  for (const { id } of revoked) admin.audit.record('token.revoked', { account_id: accountId, token_id: id });
}
