import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { hashOfSecret } from '../sign-in/secret-text.ts';
import { invitationStands } from './invitation-stands.ts';

/** An invitation as its link shows it. user_id is the user who has the address, or null. */
export type FollowedInvitation = RowOf<typeof selectInvitation>;

/** Starts without an account, because only the link is known. */
const selectInvitation = query('select_followed_invitation', (db, $: Arguments<{ linkHash: Buffer; now: Date }>) =>
  db
    .selectFrom('invitations as i')
    .innerJoin('accounts as o', 'o.id', 'i.account_id')
    .leftJoin('users as n', 'n.id', 'i.inviter_id')
    .leftJoin('users as u', 'u.canonical_email', 'i.canonical_email')
    .select(i => [
      'i.account_id',
      'o.slug as account_slug',
      'o.name as account',
      'i.email',
      'i.role',
      'n.name as inviter',
      'i.expires_at',
      'u.id as user_id',
      i
        .exists(
          i
            .selectFrom('memberships as m')
            .whereRef('m.account_id', '=', 'i.account_id')
            .whereRef('m.user_id', '=', 'u.id'),
        )
        .$castTo<boolean>()
        .as('is_member'),
    ])
    .where('i.token_hash', '=', $.linkHash)
    .where(i => invitationStands(i, db, { accountId: i.ref('i.account_id'), now: $.now })),
);

/**
 * Reads an invitation by the token in its link, without using it up. Returns undefined if it was accepted or revoked, has
 * expired, or never existed. It may reveal whether the address has a user, because the link came to that address.
 */
export async function readInvitation(
  db: Queryable,
  token: string,
  now: Date,
): Promise<(FollowedInvitation & { hash: Buffer }) | undefined> {
  const hash = hashOfSecret(token);
  const [row] = hash ? await db.query(selectInvitation, { linkHash: hash, now }) : [];
  return hash && row && { ...row, hash };
}
