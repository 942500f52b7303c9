import type { Grant } from '../../../contract/grants.ts';
import { type Arguments, query } from '../../database/query.ts';
import { ApiToken, ApiTokenBoard } from '../../entities/api-token.ts';
import { Board } from '../../entities/board.ts';
import { Voter } from '../../entities/vote.ts';
import { type LockedAccount, lockAccount } from '../accounts/find-account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { checkName } from '../fields.ts';
import { makeSecret } from '../sign-in/secret-text.ts';
import { formatToken } from './token-text.ts';

export interface NewToken {
  accountId: number;
  issuerId: number;
  name: string;
  boards: { boardId: number; grant: Grant }[];
  expiresAt?: Date | null;
  /** By default one of the API. */
  kind?: ApiToken['kind'];
}

/** A token as it is made, with the plaintext that is shown once. */
interface IssuedToken {
  token: ApiToken;
  plaintext: string;
}

/**
 * Creates a token (Token; Authentication, rules 8 and 11): by an owner or admin of the account, whose plan must have
 * the Agent API, for some of its boards. Removing, demoting and blocking the issuer lock the account too, and so does the
 * erasure of the account: either they find the token, or it is refused.
 */
export async function createToken(
  admin: Administration,
  input: NewToken,
  plansWithoutAgentApi: readonly string[] = [],
): Promise<IssuedToken> {
  const name = checkName(input.name, 100);
  checkAccount(await lockAccount(admin, input.accountId), plansWithoutAgentApi);
  await checkIssuer(admin, input);
  await checkBoards(admin, input);
  if (input.expiresAt && input.expiresAt <= admin.now) {
    throw new AdministrationError('invalid', 'The token would have expired already: give a time in the future');
  }
  return insertToken(admin, { ...input, name });
}

/**
 * Stores a token with a voter of its own (Vote), and checks nothing. The plaintext is in the answer and nowhere else:
 * the database has the SHA-256 of its secret.
 */
export async function insertToken(admin: Administration, input: NewToken): Promise<IssuedToken> {
  const voter = admin.em.create(Voter, { accountId: input.accountId });
  await admin.em.flush();
  const secret = makeSecret();
  const token = admin.em.create(ApiToken, {
    accountId: input.accountId,
    issuerId: input.issuerId,
    voterId: voter.id,
    kind: input.kind ?? 'api',
    name: input.name,
    secretHash: secret.hash,
    expiresAt: input.expiresAt ?? null,
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
    expires_at: input.expiresAt?.toISOString() ?? null,
  });
  return { token, plaintext: formatToken({ id: token.id, secret: secret.text }) };
}

function checkAccount(account: LockedAccount | undefined, plansWithoutAgentApi: readonly string[]) {
  if (!account) throw new AdministrationError('not_found', 'The account does not exist');
  if (account.erasure_began_at !== null) throw new AdministrationError('conflict', 'The account is being erased');
  if (account.plan === 'community' || !plansWithoutAgentApi.includes(account.plan)) return;
  throw new AdministrationError('forbidden', `The plan ${account.plan} of the account does not allow the Agent API`);
}

/** Locks the membership for the erasure of a user, which locks no account. */
const selectIssuer = query('select_token_issuer', (db, $: Arguments<{ accountId: number; issuerId: number }>) =>
  db
    .selectFrom('memberships as m')
    .select('m.role')
    .select(m =>
      m
        .exists(
          m.selectFrom('user_blocks as b').where('b.account_id', '=', $.accountId).where('b.user_id', '=', $.issuerId),
        )
        .as('is_blocked'),
    )
    .where('m.account_id', '=', $.accountId)
    .where('m.user_id', '=', $.issuerId)
    .forKeyShare('m'),
);

async function checkIssuer(admin: Administration, { accountId, issuerId }: NewToken) {
  const [issuer] = await admin.query(selectIssuer, { accountId, issuerId });
  if (issuer?.is_blocked) throw new AdministrationError('forbidden', 'A blocked user cannot issue a token');
  if (issuer?.role === 'owner' || issuer?.role === 'admin') return;
  throw new AdministrationError(
    'forbidden',
    'A token is issued by an owner or admin of the account; this user is neither',
  );
}

async function checkBoards(admin: Administration, { accountId, boards }: NewToken) {
  if (boards.length === 0) throw new AdministrationError('invalid', 'A token needs at least one board');
  const ids = new Set(boards.map(({ boardId }) => boardId));
  if (ids.size < boards.length) throw new AdministrationError('invalid', 'A board is named twice');
  const found = await admin.em.count(Board, { accountId, id: { $in: [...ids] } });
  if (found < ids.size) throw new AdministrationError('not_found', 'A board of the token is not one of the account');
}

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
