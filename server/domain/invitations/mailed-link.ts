import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Administration } from '../administration.ts';
import { makeSecret } from '../sign-in/secret-text.ts';
import { isOpenInvitation } from './open-invitations.ts';

/**
 * The content of an invitation mail. The inviter's name is null if the operator of the server sent the invitation. The
 * language is the language of the user with the invited e-mail address, if such a user exists.
 */
export type MailedInvitation = RowOf<typeof updateLink>;

interface OneInvitation {
  accountId: number;
  invitationId: number;
}

export function invitationUrl({ BASE_URL }: { BASE_URL: string }, token: string): string {
  return `${BASE_URL}/admin/invitations/${token}`;
}

const updateLink = query(
  'update_invitation_link',
  (db, $: Arguments<OneInvitation & { tokenHash: Buffer; now: Date }>) =>
    db
      .updateTable('invitations as i')
      .from('accounts as o')
      .set({ token_hash: $.tokenHash })
      .where(i => i.and({ 'o.id': $.accountId, 'i.account_id': $.accountId, 'i.id': $.invitationId }))
      .where('i.delivery', '=', 'waiting')
      .where(i => isOpenInvitation(i, db, $))
      .returning(i => [
        'i.email',
        'i.role',
        'i.expires_at',
        'o.name as account',
        i.selectFrom('users as u').select('u.name').whereRef('u.id', '=', 'i.inviter_id').as('inviter'),
        i
          .selectFrom('users as v')
          .select('v.language')
          .whereRef('v.canonical_email', '=', 'i.canonical_email')
          .as('language'),
      ]),
);

/**
 * Creates a new link for an invitation mail. The link from an earlier attempt to send the mail stops working. Returns
 * undefined if the invitation was already mailed or is no longer open.
 */
export async function makeInvitationLink(
  db: Queryable,
  invitation: OneInvitation,
  now: Date,
): Promise<(MailedInvitation & { token: string; tokenHash: Buffer }) | undefined> {
  const { text: token, hash: tokenHash } = makeSecret();
  const [mailed] = await db.query(updateLink, { ...invitation, tokenHash, now });
  return mailed && { ...mailed, token, tokenHash };
}

/**
 * Stores whether an invitation mail was sent. Changes nothing if the invitation has a new link, because a later mail
 * contains the new link.
 */
const updateDelivery = query(
  'update_invitation_delivery',
  (db, $: Arguments<OneInvitation & { tokenHash: Buffer; outcome: 'mailed' | 'refused' }>) =>
    db
      .updateTable('invitations')
      .set({ delivery: $.outcome })
      .where(i => i.and({ account_id: $.accountId, id: $.invitationId, token_hash: $.tokenHash }))
      .where('delivery', '=', 'waiting')
      .returning('id'),
);

export async function noteDelivery(
  admin: Administration,
  link: OneInvitation & { tokenHash: Buffer },
  outcome: 'mailed' | 'refused',
): Promise<void> {
  const [invitation] = await admin.query(updateDelivery, { ...link, outcome });
  if (!invitation) return;
  admin.audit.record('invitation.mailed', { account_id: link.accountId, invitation_id: invitation.id, outcome });
}
