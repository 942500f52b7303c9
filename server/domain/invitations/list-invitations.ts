import { statement } from '../../database/statement.ts';
import type { InvitationDelivery } from '../../entities/invitation.ts';
import type { Role } from '../../entities/membership.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { invitationStands } from './invitation-stands.ts';

/** An open invitation, without anything of its link. */
export interface InvitationView {
  id: number;
  email: string;
  role: Role;
  /** The name of whoever made it; null for the operator of the server. */
  inviter: string | null;
  delivery: InvitationDelivery;
  created_at: string;
  expires_at: string;
}

const selectInvitations = (condition: string) => `
  select i.id, i.email, i.role, u.name as inviter, i.delivery, i.created_at, i.expires_at
  from invitations i left join users u on u.id = i.inviter_id
  where i.account_id = $1 and ${invitationStands('$2')} and ${condition}`;

const selectPage = statement<InvitationView>(
  'select_invitations',
  `${selectInvitations('($3::bigint is null or i.id < $3)')} order by i.id desc limit $4`,
);

/** Lists the open invitations of an account, the last one first. */
export function listInvitations(
  admin: Administration,
  accountId: number,
  { beforeId, limit }: { beforeId?: number | undefined; limit: number },
): Promise<InvitationView[]> {
  return admin.query(selectPage, [accountId, admin.now, beforeId ?? null, limit]);
}

const selectOne = statement<InvitationView>('select_invitation', selectInvitations('i.id = $3'));

export async function requireInvitation(
  admin: Administration,
  accountId: number,
  invitationId: number,
): Promise<InvitationView> {
  const [invitation] = await admin.query(selectOne, [accountId, admin.now, invitationId]);
  if (!invitation) throw new AdministrationError('not_found', 'The account has no such invitation');
  return invitation;
}
