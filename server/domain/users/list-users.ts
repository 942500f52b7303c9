import type { ExpressionBuilder, InferResult, Kysely } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Tables } from '../../database/tables.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';
import { beginsWith, mayBegin } from '../search-by-beginning.ts';
import { canonicalAddress } from './canonical-address.ts';

/**
 * A user, with all accounts in which the user is a member or is blocked. After erasure_began_at, the erasure cannot be
 * stopped.
 */
export type UserView = InferResult<ReturnType<typeof userViews>>[number];

function userViews(db: Kysely<Tables>) {
  return db
    .selectFrom('users as u')
    .where('u.is_placeholder', '=', false)
    .select(u => [
      'u.id',
      'u.email',
      'u.name',
      'u.notification_email',
      'u.wants_mentions',
      'u.mail_frequency',
      accountsOf(u).as('accounts'),
      'u.deletion_requested_at',
      'u.erasure_began_at',
      'u.created_at',
    ])
    .$narrowType<{ email: string }>();
}

/** The query searches all accounts, because only the user is known. */
function accountsOf(u: ExpressionBuilder<Tables & { u: Tables['users'] }, 'u'>) {
  return jsonArrayFrom(
    u
      .selectFrom(u.selectFrom('memberships as of_user').selectAll().whereRef('of_user.user_id', '=', 'u.id').as('m'))
      .fullJoin(
        u.selectFrom('user_blocks as of_user').selectAll().whereRef('of_user.user_id', '=', 'u.id').as('b'),
        'b.account_id',
        'm.account_id',
      )
      .innerJoin('accounts as a', join =>
        join.on(eb => eb('a.id', '=', eb.fn.coalesce('m.account_id', 'b.account_id'))),
      )
      .select(a => [
        'a.id',
        'a.slug',
        'm.role',
        a('b.user_id', 'is not', null).$castTo<boolean>().as('is_blocked'),
        'b.reason as block_reason',
      ])
      .orderBy('a.slug'),
  );
}

export function listUsers({ db }: Administration, accountId: number | null, limit: number): Promise<UserView[]> {
  return userViews(db)
    .$if(accountId !== null, users =>
      users.where(u =>
        u.or(
          (['memberships', 'user_blocks'] as const).map(table =>
            u('u.id', 'in', u.selectFrom(table).select('user_id').where('account_id', '=', accountId)),
          ),
        ),
      ),
    )
    .orderBy(u => u.fn('lower', ['u.email']))
    .limit(limit)
    .execute();
}

export function readUser({ db }: Administration, userId: number): Promise<UserView> {
  return userViews(db).where('u.id', '=', userId).executeTakeFirstOrThrow(userIsGone);
}

export type UserSummary = InferResult<ReturnType<typeof summariesOf>>[number];

function summariesOf(db: Kysely<Tables>) {
  return userViews(db).select('u.is_operator');
}

/**
 * Lists a page of all users, newest first. If `search` is given, lists only the users with this e-mail address in any
 * spelling, and the users whose name or address begins with `search`. If `before` is given, lists only users whose ids
 * are smaller than `before`.
 */
export async function listUserPage(
  { db }: Administration,
  {
    search,
    before = Number.MAX_SAFE_INTEGER,
    limit,
  }: { search: string | undefined; before: number | undefined; limit: number },
): Promise<FirstRows<UserSummary>> {
  if (search !== undefined && !mayBegin(search)) return { rows: [], hasMore: false };
  const rows = await summariesOf(db)
    .$if(search !== undefined, users =>
      users.where(u =>
        u.or([
          u('u.canonical_email', '=', canonicalAddress(search ?? '')),
          beginsWith(u.fn('lower', ['u.email']), search ?? ''),
          beginsWith(u.fn('lower', ['u.name']), search ?? ''),
        ]),
      ),
    )
    .where('u.id', '<', before)
    .orderBy('u.id', 'desc')
    .limit(limit + 1)
    .execute();
  return cutRows(rows, limit);
}

export function readUserSummary({ db }: Administration, userId: number): Promise<UserSummary> {
  return summariesOf(db).where('u.id', '=', userId).executeTakeFirstOrThrow(userIsGone);
}

function userIsGone() {
  return new AdministrationError('not_found', t('refusals.user.gone'));
}
