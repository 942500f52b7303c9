import { addJob } from '../../database/add-job.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { InvitationDelivery } from '../../entities/account.ts';
import type { Role } from '../../entities/membership.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { checkEmail } from '../fields.ts';
import { lockMembers } from '../members/authority.ts';
import { makeSecret } from '../sign-in/secret-text.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { invitationStands } from './open-invitations.ts';

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
  /** The token in the link, for the inviter to pass on; undefined if a worker makes the link and mails it. */
  token: string | undefined;
}

const selectInvited = query(
  'select_invited',
  (db, $: Arguments<{ accountId: number; canonicalEmail: string; now: Date }>) => {
    const member = db
      .selectFrom('memberships as m')
      .innerJoin('users as u', 'u.id', 'm.user_id')
      .where('m.account_id', '=', $.accountId)
      .where('u.canonical_email', '=', $.canonicalEmail);
    const blocked = db
      .selectFrom('user_blocks as b')
      .innerJoin('users as u', 'u.id', 'b.user_id')
      .where('b.account_id', '=', $.accountId)
      .where('u.canonical_email', '=', $.canonicalEmail);
    const invitation = db
      .selectFrom('invitations as i')
      .where('i.account_id', '=', $.accountId)
      .where('i.canonical_email', '=', $.canonicalEmail)
      .where(i => invitationStands(i, db, $));
    return db.selectNoFrom(eb => [
      member.select('m.role').as('role'),
      eb.exists(blocked).$castTo<boolean>().as('is_blocked'),
      invitation.select('i.role').as('open_role'),
    ]);
  },
);

interface InvitationRow extends NewInvitation {
  canonicalEmail: string;
  inviterId: number | null;
  tokenHash: Buffer | null;
  delivery: InvitationDelivery;
  now: Date;
  expiresAt: Date;
}

const upsertInvitation = query('upsert_invitation', (db, $: Arguments<InvitationRow>) => {
  const fields = {
    email: $.email,
    role: $.role,
    inviter_id: $.inviterId,
    token_hash: $.tokenHash,
    delivery: $.delivery,
    created_at: $.now,
    expires_at: $.expiresAt,
  };
  return db
    .insertInto('invitations')
    .values({ account_id: $.accountId, canonical_email: $.canonicalEmail, ...fields })
    .onConflict(conflict => conflict.columns(['canonical_email', 'account_id']).doUpdateSet(fields))
    .returning('id');
});

/** Runs after the address is written, because a trigger for the version before may clear the form then. */
const setCanonicalEmail = query(
  'set_canonical_email_of_invitation',
  (db, $: Arguments<{ accountId: number; invitationId: number; canonicalEmail: string }>) =>
    db
      .updateTable('invitations')
      .set({ canonical_email: $.canonicalEmail })
      .where('account_id', '=', $.accountId)
      .where('id', '=', $.invitationId)
      .where('canonical_email', 'is distinct from', $.canonicalEmail),
);

/** Deletes older invitations to what the index of the version before, on lower(email), takes for the same address. */
const deleteLookalikes = query(
  'delete_lookalike_invitations',
  (db, $: Arguments<{ accountId: number; email: string; canonicalEmail: string }>) =>
    db
      .deleteFrom('invitations')
      .where('account_id', '=', $.accountId)
      .where(({ eb, fn }) => eb(fn('lower', ['email']), '=', fn('lower', [$.email])))
      .where('canonical_email', 'is distinct from', $.canonicalEmail),
);

/**
 * Invites an address to become a member. A second invitation replaces the first with its role, and the first link stops
 * working. The result does not reveal whether the address has a user.
 */
export async function inviteMember(
  admin: Administration,
  { accountId, role, ...input }: NewInvitation,
  { isMailed }: { isMailed: boolean },
): Promise<IssuedInvitation> {
  const email = checkEmail(input.email);
  const authority = await lockMembers(admin, accountId);
  authority.require(role);
  const address = { accountId, email, canonicalEmail: canonicalAddress(email) };
  const [invited] = await admin.query(selectInvited, { ...address, now: admin.now });
  if (invited?.role) throw new AdministrationError('conflict', `${email} is a member of the account already`);
  if (invited?.is_blocked) throw new AdministrationError('conflict', `${email} is blocked in the account`);
  // A new role replaces this one.
  if (invited?.open_role) authority.require(invited.open_role);

  const secret = isMailed ? undefined : makeSecret();
  const delivery: InvitationDelivery = isMailed ? 'waiting' : 'by_hand';
  const expiresAt = new Date(admin.now.getTime() + invitationDays * 86_400_000);
  await admin.query(deleteLookalikes, address);
  const [invitation] = await admin.query(upsertInvitation, {
    ...address,
    role,
    inviterId: actingUserOf(admin),
    tokenHash: secret?.hash ?? null,
    delivery,
    now: admin.now,
    expiresAt,
  });
  if (!invitation) throw new Error('The invitation was not stored');
  await admin.query(setCanonicalEmail, { ...address, invitationId: invitation.id });
  if (isMailed) {
    await addJob(admin, {
      task: 'mail_invitation',
      payload: { invitation_id: invitation.id, account_id: accountId },
      // Makes one mail of several invitations in a row.
      key: `invitation:${invitation.id}`,
      // These take a day, and end long before the invitation.
      maxAttempts: 12,
    });
  }
  admin.audit.record('invitation.created', { account_id: accountId, invitation_id: invitation.id, email, role });
  return { id: invitation.id, email, role, expiresAt, token: secret?.text };
}
