import { type ExpressionBuilder, type InferResult, type Kysely, sql } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { countBounded } from '../bounded-count.ts';
import { cutRows, type FirstRows } from '../pagination.ts';
import { beginsWith, mayBegin } from '../search-by-beginning.ts';

export const accountStates = ['active', 'scheduled', 'erasing'] as const;

/**
 * In the state `scheduled`, the account is in the grace period before its erasure. In the state `erasing`, the erasure
 * has begun and cannot be stopped.
 */
export type AccountState = (typeof accountStates)[number];

/** An account with the numbers of its members, boards and ideas, for operators. Each count stops at countLimit + 1. */
export type AccountSummary = InferResult<ReturnType<typeof summariesOf>>[number];

type OfAccount = ExpressionBuilder<Tables & { a: Tables['accounts'] }, 'a'>;

/** Searches all accounts, because an operator administers all accounts. */
function summariesOf(db: Kysely<Tables>) {
  return db
    .selectFrom('accounts as a')
    .select(['a.id', 'a.slug', 'a.name', 'a.plan', 'a.deletion_scheduled_at', 'a.created_at'])
    .select(a => [
      stateOfAccount(a).as('state'),
      countRows(a, 'memberships').as('member_count'),
      countRows(a, 'boards').as('board_count'),
      countRows(a, 'ideas').as('idea_count'),
    ]);
}

function stateOfAccount(a: OfAccount) {
  return a
    .case()
    .when('a.erasure_began_at', 'is not', null)
    .then('erasing' as const)
    .when('a.deletion_scheduled_at', 'is not', null)
    .then('scheduled' as const)
    .else('active' as const)
    .end();
}

/**
 * Counts an account's rows up to a limit. The query uses `between` and `order by`. With `account_id = a.id` or without
 * `order by`, PostgreSQL might read the rows of all accounts until it finds enough rows of this account.
 */
function countRows(a: OfAccount, table: 'memberships' | 'boards' | 'ideas') {
  const ofAccount = sql<boolean>`account_id between a.id and a.id`;
  return countBounded(a.selectFrom(table).where(ofAccount).orderBy('account_id'));
}

interface AccountFilter {
  /** Lists only accounts whose name or slug begins with this text. Upper and lower case do not matter. */
  beginning?: string | undefined;
  state?: AccountState | undefined;
  /** Lists only accounts whose ids are smaller than this id. */
  before?: number | undefined;
  limit: number;
}

/** Lists a page of all accounts, newest first. */
export async function listAccountPage(
  { db }: Administration,
  { beginning, state, before = Number.MAX_SAFE_INTEGER, limit }: AccountFilter,
): Promise<FirstRows<AccountSummary>> {
  if (beginning !== undefined && !mayBegin(beginning)) return { rows: [], hasMore: false };
  const rows = await summariesOf(db)
    .$if(beginning !== undefined, accounts =>
      accounts.where(a =>
        a.or([beginsWith(a.fn('lower', ['a.name']), beginning ?? ''), beginsWith(a.ref('a.slug'), beginning ?? '')]),
      ),
    )
    // The condition on `deletion_scheduled_at` makes PostgreSQL use the index of scheduled deletions.
    .$if(state !== undefined, accounts =>
      accounts
        .where('a.deletion_scheduled_at', state === 'active' ? 'is' : 'is not', null)
        .where('a.erasure_began_at', state === 'erasing' ? 'is not' : 'is', null),
    )
    .where('a.id', '<', before)
    .orderBy('a.id', 'desc')
    .limit(limit + 1)
    .execute();
  return cutRows(rows, limit);
}

/** Reads an account and at most `mostOwners` of its owners, sorted by user id. */
export async function readAccountSummary({ db }: Administration, accountId: number, mostOwners: number) {
  const owners = db
    .selectFrom('memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.name', 'u.email'])
    .where('m.account_id', '=', accountId)
    .where('m.role', '=', 'owner')
    .orderBy('m.user_id')
    .limit(mostOwners)
    .$narrowType<{ email: string }>();
  const account = await summariesOf(db)
    .where('a.id', '=', accountId)
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', t('refusals.account.gone')));
  return { ...account, owners: await owners.execute() };
}
