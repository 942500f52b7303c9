import { Invitation } from '../../entities/account.ts';
import type { Administration } from '../administration.ts';
import { lockMembers } from '../members/may-manage.ts';
import { requireInvitation } from './list-invitations.ts';

/** Takes an invitation back: its link works no more. For whoever may make it. */
export async function revokeInvitation(admin: Administration, accountId: number, invitationId: number): Promise<void> {
  const authority = await lockMembers(admin, accountId);
  const { email, role } = await requireInvitation(admin, accountId, invitationId);
  authority.require(role);
  await admin.em.nativeDelete(Invitation, { id: invitationId, accountId });
  admin.audit.record('invitation.revoked', { account_id: accountId, invitation_id: invitationId, email, role });
}
