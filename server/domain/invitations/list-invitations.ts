import { type InferResult, sql } from 'kysely';
import { type Administration, AdministrationError } from '../administration.ts';
import { invitationStands } from './invitation-stands.ts';

/** An open invitation without its link. The inviter's name is null for the operator of the server. */
export type InvitationView = InferResult<ReturnType<typeof openInvitations>>[number];

function openInvitations({ db, now }: Administration, accountId: number) {
  const terms = { accountId: sql.val(accountId), now: sql.val(now.toISOString()) };
  return db
    .selectFrom('invitations as i')
    .leftJoin('users as u', 'u.id', 'i.inviter_id')
    .where('i.account_id', '=', accountId)
    .where(i => invitationStands(i, db, terms))
    .select(['i.id', 'i.email', 'i.role', 'u.name as inviter', 'i.delivery', 'i.created_at', 'i.expires_at']);
}

/** Lists the open invitations of an account, the newest first. */
export function listInvitations(
  admin: Administration,
  accountId: number,
  { beforeId, limit }: { beforeId?: number | undefined; limit: number },
): Promise<InvitationView[]> {
  const all = openInvitations(admin, accountId);
  const listed = beforeId === undefined ? all : all.where('i.id', '<', beforeId);
  return listed.orderBy('i.id', 'desc').limit(limit).execute();
}

export async function requireInvitation(
  admin: Administration,
  accountId: number,
  invitationId: number,
): Promise<InvitationView> {
  const invitation = await openInvitations(admin, accountId).where('i.id', '=', invitationId).executeTakeFirst();
  if (!invitation) throw new AdministrationError('not_found', 'The account has no such invitation');
  return invitation;
}
