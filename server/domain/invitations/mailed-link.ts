import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import type { Role } from '../../entities/membership.ts';
import type { Administration } from '../administration.ts';
import { makeSecret } from '../sign-in/secret-text.ts';
import { invitationStands } from './invitation-stands.ts';

/** What a mail with the link of an invitation says. */
export interface MailedInvitation {
  email: string;
  role: Role;
  account: string;
  /** Null for the operator of the server. */
  inviter: string | null;
  expires_at: string;
}

/** Where a link leads. */
export function invitationUrl({ BASE_URL }: { BASE_URL: string }, token: string): string {
  return `${BASE_URL}/admin/invitations/${token}`;
}

const updateLink = statement<MailedInvitation>(
  'update_invitation_link',
  `update invitations i set token_hash = $2
  from accounts o
  where i.id = $1 and i.delivery = 'waiting' and o.id = i.account_id and ${invitationStands('$3')}
  returning i.email, i.role, i.expires_at, o.name as account,
    (select u.name from users u where u.id = i.inviter_id) as inviter`,
);

/**
 * Makes the link of an invitation that is to be mailed; one that a try before has made works no more. Undefined where
 * there is nothing to mail any more.
 */
export async function makeInvitationLink(
  db: Queryable,
  invitationId: number,
  now: Date,
): Promise<(MailedInvitation & { token: string; tokenHash: Buffer }) | undefined> {
  const { text: token, hash: tokenHash } = makeSecret();
  const [invitation] = await db.query(updateLink, [invitationId, tokenHash, now]);
  return invitation && { ...invitation, token, tokenHash };
}

/** Of this link alone: whoever is invited again meanwhile still waits for their mail. */
const updateDelivery = statement<{ account_id: number }>(
  'update_invitation_delivery',
  `update invitations set delivery = $3 where id = $1 and token_hash = $2 and delivery = 'waiting' returning account_id`,
);

/** Notes what became of the mail with a link. */
export async function noteDelivery(
  admin: Administration,
  { invitationId, tokenHash }: { invitationId: number; tokenHash: Buffer },
  outcome: 'mailed' | 'refused',
): Promise<void> {
  const [invitation] = await admin.query(updateDelivery, [invitationId, tokenHash, outcome]);
  if (!invitation) return;
  const { account_id } = invitation;
  admin.audit.record('invitation.mailed', { account_id, invitation_id: invitationId, outcome });
}
