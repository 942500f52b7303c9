import { type Expression, type InferResult, type Kysely, sql } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** An account with the addresses of its owners, the oldest owner first. An erasure that has begun cannot be stopped. */
export type AccountView = InferResult<ReturnType<typeof accountViews>>[number];

/** The id is a value for one account, or the column a.id for all accounts. */
function accountViews(db: Kysely<Tables>, accountId: Expression<number>) {
  const owners = db
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select('u.email')
    .where('m.account_id', '=', accountId)
    .where('m.role', '=', 'owner')
    .orderBy('m.created_at')
    .orderBy('u.id');
  return db
    .selectFrom('accounts as a')
    .select(a => [
      'a.id',
      'a.slug',
      'a.name',
      'a.plan',
      sql<string[]>`array(${owners})`.as('owners'),
      a
        .selectFrom('boards as b')
        .select(b => b.fn.countAll<number>().as('count'))
        .where('b.account_id', '=', accountId)
        .$asScalar()
        .$notNull()
        .as('board_count'),
      a
        .selectFrom('memberships as m')
        .select(m => m.fn.countAll<number>().as('count'))
        .where('m.account_id', '=', accountId)
        .$asScalar()
        .$notNull()
        .as('member_count'),
      'a.deletion_scheduled_at',
      'a.erasure_began_at',
      'a.created_at',
    ])
    .orderBy('a.slug');
}

/** For the operator, who sees all accounts. */
export function listAccounts({ db }: Administration): Promise<AccountView[]> {
  return accountViews(db, sql.ref<number>('a.id')).execute();
}

export async function readAccount({ db }: Administration, accountId: number): Promise<AccountView> {
  const account = await accountViews(db, sql.val(accountId)).where('a.id', '=', accountId).executeTakeFirst();
  if (!account) throw new AdministrationError('not_found', 'The account is gone');
  return account;
}
