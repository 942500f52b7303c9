import type { ExpressionBuilder } from 'kysely';
import type { Tables } from '../../database/tables.ts';

/**
 * The condition on which a user u may sign in and stay signed in: they are not the placeholder, their erasure has not
 * begun, and no block shuts them out of all their accounts. A user who asked for their deletion may sign in to cancel it.
 * The condition looks at all accounts of a person, so it names none.
 */
export function maySignIn(u: ExpressionBuilder<Tables & { u: Tables['users'] }, 'u'>) {
  const isBlockedAnywhere = u.exists(u.selectFrom('user_blocks as b').whereRef('b.user_id', '=', 'u.id'));
  const hasOpenAccount = u.exists(
    u
      .selectFrom('memberships as m')
      .whereRef('m.user_id', '=', 'u.id')
      .where(m =>
        m.not(
          m.exists(
            m
              .selectFrom('user_blocks as b')
              .whereRef('b.account_id', '=', 'm.account_id')
              .whereRef('b.user_id', '=', 'm.user_id'),
          ),
        ),
      ),
  );
  return u.and([
    u('u.is_placeholder', '=', false),
    u('u.erasure_began_at', 'is', null),
    u.or([u.not(isBlockedAnywhere), hasOpenAccount]),
  ]);
}
