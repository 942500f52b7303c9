import { type Expression, type ExpressionBuilder, type InferResult, type Kysely, sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { Invitation } from '../../entities/account.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { activeMemberships, lockMembers, mayManageIn } from '../members/authority.ts';

/**
 * The condition that an invitation of an account is open. The SQL alias of the invitation is `i`. An invitation is open
 * if all of this is true:
 * - The invitation has not expired, and its e-mail address has a canonical form.
 * - The account is not being erased.
 * - The inviter still has the right to give the invitation's role.
 * - No user who is blocked in the account has the address.
 * Every query that finds invitations checks this condition. So when a user is blocked or removed, the user's
 * invitations need no change.
 */
export function isOpenInvitation(
  i: ExpressionBuilder<Tables & { i: Tables['invitations'] }, 'i'>,
  db: Kysely<Tables>,
  { accountId, now }: { accountId: Expression<number>; now: Expression<string> },
) {
  const account = db.selectFrom('accounts as a').where('a.id', '=', accountId).where('a.erasure_began_at', 'is', null);
  const inviter = activeMemberships(db, accountId)
    .where('m.user_id', '=', i.ref('i.inviter_id'))
    .where(m => mayManageIn(m.ref('m.role'), i.ref('i.role')));
  const blocked = db
    .selectFrom('users as v')
    .innerJoin('user_blocks as b', join => join.onRef('b.user_id', '=', 'v.id').on('b.account_id', '=', accountId))
    .where('v.canonical_email', '=', i.ref('i.canonical_email'));
  return i.and([
    i('i.expires_at', '>', now),
    i('i.canonical_email', 'is not', null),
    i.exists(account),
    i.or([i('i.inviter_id', 'is', null), i.exists(inviter)]),
    i.not(i.exists(blocked)),
  ]);
}

/** The inviter's name is null if the operator of the server sent the invitation. */
export type InvitationView = InferResult<ReturnType<typeof openInvitations>>[number];

function openInvitations({ db, now }: Administration, accountId: number) {
  const terms = { accountId: sql.val(accountId), now: sql.val(now.toISOString()) };
  return db
    .selectFrom('invitations as i')
    .leftJoin('users as u', 'u.id', 'i.inviter_id')
    .where('i.account_id', '=', accountId)
    .where(i => isOpenInvitation(i, db, terms))
    .select(['i.id', 'i.email', 'i.role', 'u.name as inviter', 'i.delivery', 'i.created_at', 'i.expires_at']);
}

export function listInvitations(
  admin: Administration,
  accountId: number,
  { beforeId, limit }: { beforeId?: number | undefined; limit: number },
): Promise<InvitationView[]> {
  const all = openInvitations(admin, accountId);
  const listed = beforeId === undefined ? all : all.where('i.id', '<', beforeId);
  return listed.orderBy('i.id', 'desc').limit(limit).execute();
}

export function findInvitation(
  admin: Administration,
  accountId: number,
  canonicalEmail: string,
): Promise<InvitationView | undefined> {
  return openInvitations(admin, accountId).where('i.canonical_email', '=', canonicalEmail).executeTakeFirst();
}

export function requireInvitation(
  admin: Administration,
  accountId: number,
  invitationId: number,
): Promise<InvitationView> {
  return openInvitations(admin, accountId)
    .where('i.id', '=', invitationId)
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', t('refusals.invitation.unknown')));
}

/** Revokes an invitation. The acting user must have the right to give the role of the invitation. */
export async function revokeInvitation(admin: Administration, accountId: number, invitationId: number): Promise<void> {
  const authority = await lockMembers(admin, accountId);
  const { email, role } = await requireInvitation(admin, accountId, invitationId);
  authority.require(role);
  await admin.em.nativeDelete(Invitation, { id: invitationId, accountId });
  admin.audit.record('invitation.revoked', { account_id: accountId, invitation_id: invitationId, email, role });
}

/** `user_id` is the id of the user who has the invited e-mail address, or null if no user has the address. */
export type FollowedInvitation = RowOf<typeof selectInvitation>;

/** Searches all accounts, because the link does not name the account. */
const selectInvitation = query('select_followed_invitation', (db, $: Arguments<{ linkHash: Buffer; now: Date }>) =>
  db
    .selectFrom('invitations as i')
    .innerJoin('accounts as o', 'o.id', 'i.account_id')
    .leftJoin('users as n', 'n.id', 'i.inviter_id')
    .leftJoin('users as u', 'u.canonical_email', 'i.canonical_email')
    .leftJoin('memberships as m', join =>
      join.onRef('m.account_id', '=', 'i.account_id').onRef('m.user_id', '=', 'u.id'),
    )
    .select(i => [
      'i.id',
      'i.account_id',
      'o.slug as account_slug',
      'o.name as account',
      'i.email',
      'i.role',
      'n.name as inviter',
      'i.expires_at',
      'u.id as user_id',
      i('m.user_id', 'is not', null).$castTo<boolean>().as('is_member'),
    ])
    .where('i.token_hash', '=', $.linkHash)
    .where(i => isOpenInvitation(i, db, { accountId: i.ref('i.account_id'), now: $.now })),
);

/**
 * Reads an invitation by the hash of the token in its link. Returns undefined if the invitation does not exist or is
 * not open (see isOpenInvitation).
 *
 * The result may reveal whether a user has the invited e-mail address, because only the owner of the address should
 * have the link.
 */
export async function readInvitation(
  db: Queryable,
  linkHash: Buffer,
  now: Date,
): Promise<FollowedInvitation | undefined> {
  const [invitation] = await db.query(selectInvitation, { linkHash, now });
  return invitation;
}
