import type { Expression, Kysely } from 'kysely';
import type { Tables } from '../../database/tables.ts';

/** Selects the memberships m of an account without those of blocked users. Only these give the rights of their role. */
export function activeMemberships(db: Kysely<Tables>, accountId: Expression<number>) {
  return db
    .selectFrom('memberships as m')
    .where('m.account_id', '=', accountId)
    .where(m =>
      m.not(
        m.exists(
          m
            .selectFrom('user_blocks as b')
            .where('b.account_id', '=', accountId)
            .whereRef('b.user_id', '=', 'm.user_id'),
        ),
      ),
    );
}
