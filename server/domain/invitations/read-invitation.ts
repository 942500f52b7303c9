import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import type { Role } from '../../entities/membership.ts';
import { hashOfSecret } from '../sign-in/secret-text.ts';
import { invitationStands } from './invitation-stands.ts';

/** What whoever has the link of an invitation is told. */
export interface FollowedInvitation {
  account_id: number;
  account_slug: string;
  account: string;
  email: string;
  role: Role;
  inviter: string | null;
  expires_at: string;
  /** The user who has the address, if anybody has. */
  user_id: number | null;
  is_member: boolean;
}

const selectInvitation = statement<FollowedInvitation>(
  'select_followed_invitation',
  `select i.account_id, o.slug as account_slug, o.name as account, i.email, i.role, n.name as inviter, i.expires_at,
    u.id as user_id,
    exists (select from memberships m where m.account_id = i.account_id and m.user_id = u.id) as is_member
  from invitations i
  join accounts o on o.id = i.account_id
  left join users n on n.id = i.inviter_id
  left join users u on u.canonical_email = i.canonical_email
  where i.token_hash = $1 and ${invitationStands('$2')}`,
);

/**
 * Reads an invitation by what its link holds; undefined when it was used, revoked, is over, or never was. To look at it
 * does not use it up. It tells whether the address has a user: whoever has the link reads the mail of the address.
 */
export async function readInvitation(
  db: Queryable,
  token: string,
  now: Date,
): Promise<(FollowedInvitation & { hash: Buffer }) | undefined> {
  const hash = hashOfSecret(token);
  const [row] = hash ? await db.query(selectInvitation, [hash, now]) : [];
  return hash && row && { ...row, hash };
}
