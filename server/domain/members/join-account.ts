import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { t } from '../../text/catalogue.ts';
import { lockAccount } from '../accounts/find-account.ts';
import { admits, readJoinable } from '../accounts/join-rule.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { isBlocked, type UserInAccount } from './authority.ts';
import { insertMember } from './change-members.ts';

/**
 * Whether a user is a member of an account or can become one:
 * - member: the user is a member already.
 * - may_join: the user can join, because the account lets people with the user's confirmed e-mail address join.
 * - must_confirm: the user can join after the user has confirmed the e-mail address.
 * - closed: the user cannot join.
 */
export type Standing = 'member' | 'may_join' | 'must_confirm' | 'closed';

const selectNewcomer = query('select_newcomer', (db, $: Arguments<UserInAccount>) =>
  db
    .selectFrom('users as u')
    .leftJoin('memberships as m', join => join.onRef('m.user_id', '=', 'u.id').on('m.account_id', '=', $.accountId))
    .select(u => [
      'u.canonical_email',
      'u.confirmed_email',
      u('m.user_id', 'is not', null).$castTo<boolean>().as('is_member'),
      isBlocked($.accountId, u.ref('u.id')).as('is_blocked'),
    ])
    .where('u.id', '=', $.userId),
);

/** Returns whether a user is a member of an account or may become one without an invitation. */
export async function readStanding(db: Queryable, user: UserInAccount): Promise<Standing> {
  const [newcomer] = await db.query(selectNewcomer, user);
  if (newcomer?.is_member) return 'member';
  const account = await readJoinable(db, user.accountId);
  const email = newcomer?.canonical_email ?? undefined;
  if (!newcomer || newcomer.is_blocked || email === undefined || !account || !admits(account, email)) return 'closed';
  return newcomer.confirmed_email === email ? 'may_join' : 'must_confirm';
}

/**
 * Gives a user the role member in an account that lets the user's confirmed e-mail address join. Changes nothing if the
 * user is a member already.
 */
export async function joinAccount(admin: Administration, user: UserInAccount): Promise<void> {
  await lockAccount(admin, user.accountId);
  const standing = await readStanding(admin, user);
  if (standing === 'member') return;
  if (standing !== 'may_join') {
    throw new AdministrationError('forbidden', t('refusals.joining.closed'));
  }
  await insertMember(admin, user, 'member');
  admin.audit.record('member.joined', { account_id: user.accountId, user_id: user.userId });
}
