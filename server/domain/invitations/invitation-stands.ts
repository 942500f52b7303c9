import type { Expression, ExpressionBuilder, Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { activeMemberships } from '../members/active-memberships.ts';
import { mayManageIn } from '../members/may-manage.ts';

/**
 * The condition under which an invitation i of an account is listed, mailed and accepted. It has not expired, its address
 * has a canonical form, and its account is not being erased. Its inviter may still invite to its role, and its address
 * does not belong to a blocked user. Because each query checks this, a block or a removal need not change invitations.
 */
export function invitationStands(
  i: ExpressionBuilder<Tables & { i: Tables['invitations'] }, 'i'>,
  db: Kysely<Tables>,
  { accountId, now }: { accountId: Expression<number>; now: Expression<string> },
) {
  const account = db.selectFrom('accounts as a').where('a.id', '=', accountId).where('a.erasure_began_at', 'is', null);
  const inviter = activeMemberships(db, accountId)
    .where('m.user_id', '=', i.ref('i.inviter_id'))
    .where(m => mayManageIn(m.ref('m.role'), i.ref('i.role')));
  const blocked = db
    .selectFrom('users as v')
    .innerJoin('user_blocks as b', join => join.onRef('b.user_id', '=', 'v.id').on('b.account_id', '=', accountId))
    .where('v.canonical_email', '=', i.ref('i.canonical_email'));
  return i.and([
    i('i.expires_at', '>', now),
    i('i.canonical_email', 'is not', null),
    i.exists(account),
    i.or([i('i.inviter_id', 'is', null), i.exists(inviter)]),
    i.not(i.exists(blocked)),
  ]);
}
