import { addJob } from '../../database/add-job.ts';
import { Invitation } from '../../entities/account.ts';
import type { Role } from '../../entities/membership.ts';
import { t } from '../../text/catalogue.ts';
import { currentLanguage } from '../../text/language.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { checkEmail } from '../fields.ts';
import { lockMembers } from '../members/authority.ts';
import { makeSecret } from '../sign-in/secret-text.ts';
import { canonicalAddress } from '../users/canonical-address.ts';
import { findUser } from '../users/find-user.ts';
import { readPeople } from '../users/read-people.ts';
import { findInvitation } from './open-invitations.ts';

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
  /** The token of the link that the inviter passes on. Undefined if a worker creates the link and mails it. */
  token: string | undefined;
}

/**
 * Invites the owner of an e-mail address to become a member of the account. A second invitation to the same address
 * replaces the first, including its role, and the first link stops working. The result does not reveal whether a user
 * outside the account has this address.
 */
export async function inviteMember(
  admin: Administration,
  { accountId, role, ...input }: NewInvitation,
  { isMailed }: { isMailed: boolean },
): Promise<IssuedInvitation> {
  const email = checkEmail(input.email);
  const authority = await lockMembers(admin, accountId);
  authority.require(role);
  const user = await findUser(admin, email);
  const person = user && (await readPeople(admin, accountId, [user.id])).get(user.id);
  if (person?.role) throw new AdministrationError('conflict', t('refusals.invitation.member', { email }));
  if (person?.is_blocked) throw new AdministrationError('conflict', t('refusals.invitation.blocked', { email }));
  const canonicalEmail = canonicalAddress(email);
  const replaced = await findInvitation(admin, accountId, canonicalEmail);
  if (replaced) authority.require(replaced.role);

  const secret = isMailed ? undefined : makeSecret();
  const expiresAt = new Date(admin.now.getTime() + invitationDays * 86_400_000);
  // An index for the previous version of the server requires lower(email) to be unique within the account. So an
  // invitation with another canonical address but the same lower(email) must be revoked first.
  const revoked = await admin.db
    .deleteFrom('invitations')
    .where('account_id', '=', accountId)
    .where(i => i(i.fn('lower', ['email']), '=', i.fn('lower', [i.val(email)])))
    .where('canonical_email', 'is distinct from', canonicalEmail)
    .returning(['id', 'email', 'role'])
    .execute();
  for (const { id, ...other } of revoked) {
    authority.require(other.role);
    admin.audit.record('invitation.revoked', { account_id: accountId, invitation_id: id, ...other });
  }
  const fields = {
    email,
    role,
    inviter_id: actingUserOf(admin),
    token_hash: secret?.hash ?? null,
    delivery: isMailed ? ('waiting' as const) : ('by_hand' as const),
    created_at: admin.now,
    expires_at: expiresAt,
  };
  const { id } = await admin.db
    .insertInto('invitations')
    .values({ account_id: accountId, canonical_email: canonicalEmail, ...fields })
    .onConflict(conflict => conflict.columns(['canonical_email', 'account_id']).doUpdateSet(fields))
    .returning('id')
    .executeTakeFirstOrThrow();
  // Writes canonical_email again after the upsert. If the upsert changed the address, a trigger for the previous
  // version of the server may have cleared canonical_email.
  await admin.em.nativeUpdate(Invitation, { id, accountId }, { canonicalEmail });
  if (isMailed) {
    await addJob(admin, {
      task: 'mail_invitation',
      payload: { invitation_id: id, account_id: accountId, language: currentLanguage() },
      // The job key prevents several mails if an address is invited several times in a row.
      key: `invitation:${id}`,
      // Twelve attempts take about 16 hours, so they end long before the invitation expires.
      maxAttempts: 12,
    });
  }
  admin.audit.record('invitation.created', { account_id: accountId, invitation_id: id, email, role });
  return { id, email, role, expiresAt, token: secret?.text };
}
