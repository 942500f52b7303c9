import { plannedStatement, statement } from '../../database/statement.ts';
import type { InvitationDelivery } from '../../entities/invitation.ts';
import type { Role } from '../../entities/membership.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { checkEmail } from '../fields.ts';
import { lockMembers } from '../members/may-manage.ts';
import { makeSecret } from '../sign-in/secret-text.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { invitationStands } from './invitation-stands.ts';

/** How long an invitation can be accepted. */
export const invitationDays = 7;

export interface NewInvitation {
  accountId: number;
  email: string;
  role: Role;
}

export interface IssuedInvitation {
  id: number;
  email: string;
  role: Role;
  expiresAt: Date;
  /** What the link holds, to be handed over; undefined where a worker makes it and mails it. */
  token: string | undefined;
}

interface Invited {
  role: Role | null;
  is_blocked: boolean;
  open_role: Role | null;
}

const selectInvited = statement<Invited>(
  'select_invited',
  `select
    (select m.role from memberships m join users u on u.id = m.user_id
      where m.account_id = $1 and u.canonical_email = $2) as role,
    exists (select from user_blocks b join users u on u.id = b.user_id
      where b.account_id = $1 and u.canonical_email = $2) as is_blocked,
    (select i.role from invitations i
      where i.account_id = $1 and i.canonical_email = $2 and ${invitationStands('$3')}) as open_role`,
);

const upsertInvitation = statement<{ id: number }>(
  'upsert_invitation',
  `insert into invitations as i
    (account_id, email, role, inviter_id, token_hash, delivery, created_at, expires_at, canonical_email)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  on conflict (canonical_email, account_id) do update
    set email = excluded.email, role = excluded.role, inviter_id = excluded.inviter_id,
        token_hash = excluded.token_hash, delivery = excluded.delivery, created_at = excluded.created_at,
        expires_at = excluded.expires_at
  returning id`,
);

/** After the address: for the version before, a trigger clears the form where only the address is written. */
const setCanonicalEmail = statement<never>(
  'set_canonical_email_of_invitation',
  'update invitations set canonical_email = $2 where id = $1 and canonical_email is distinct from $2',
);

/** The index of the version before takes these for the same address: the later invitation stands. */
const deleteLookalikes = statement<never>(
  'delete_lookalike_invitations',
  `delete from invitations
  where account_id = $1 and lower(email) = lower($2) and canonical_email is distinct from $3`,
);

/** Under a key, so that of several invitations in a row one is mailed. A day of tries: it is good for a week. */
const leaveMail = plannedStatement<never>(`
  select graphile_worker.add_job(
    'mail_invitation', json_build_object('invitation_id', $1::bigint, 'account_id', $2::bigint),
    job_key => 'invitation:' || $1::bigint, max_attempts => 12
  )`);

/**
 * Invites an address to become a member. Whoever is invited already is so anew, in the role that is given now: the link
 * before works no more. Nothing of it says whether the address has a user here.
 */
export async function inviteMember(
  admin: Administration,
  { accountId, role, ...input }: NewInvitation,
  { isMailed }: { isMailed: boolean },
): Promise<IssuedInvitation> {
  const email = checkEmail(input.email);
  const authority = await lockMembers(admin, accountId);
  authority.require(role);
  const canonical = canonicalAddress(email);
  const [invited] = await admin.query(selectInvited, [accountId, canonical, admin.now]);
  if (invited?.role) throw new AdministrationError('conflict', `${email} is a member of the account already`);
  if (invited?.is_blocked) throw new AdministrationError('conflict', `${email} is blocked in the account`);
  // Another role in its place is the end of that one.
  if (invited?.open_role) authority.require(invited.open_role);

  const secret = isMailed ? undefined : makeSecret();
  const delivery: InvitationDelivery = isMailed ? 'waiting' : 'by_hand';
  const expiresAt = new Date(admin.now.getTime() + invitationDays * 86_400_000);
  const inviterId = actingUserOf(admin);
  const values = [accountId, email, role, inviterId, secret?.hash ?? null, delivery, admin.now, expiresAt, canonical];
  await admin.query(deleteLookalikes, [accountId, email, canonical]);
  const [invitation] = await admin.query(upsertInvitation, values);
  if (!invitation) throw new Error('The invitation was not stored');
  await admin.query(setCanonicalEmail, [invitation.id, canonical]);
  if (isMailed) await admin.query(leaveMail, [invitation.id, accountId]);
  admin.audit.record('invitation.created', { account_id: accountId, invitation_id: invitation.id, email, role });
  return { id: invitation.id, email, role, expiresAt, token: secret?.text };
}
