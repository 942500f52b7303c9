import { type Expression, type InferResult, type Kysely, sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { Account } from '../../entities/account.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { countAll } from '../bounded-count.ts';
import { quote } from '../fields.ts';

export async function requireAccount(admin: Pick<Administration, 'em'>, slug: string): Promise<Account> {
  const failHandler = () => new AdministrationError('not_found', t('refusals.account.unknown', { slug: quote(slug) }));
  return requireUsable(await admin.em.findOneOrFail(Account, { slug }, { failHandler }));
}

/**
 * Finds an account by id. Finding it by slug would not be safe: after a rename, another account may have taken the
 * slug.
 */
export async function requireAccountById(admin: Administration, accountId: number): Promise<Account> {
  return requireUsable(await admin.em.findOneOrFail(Account, accountId, { failHandler: accountIsGone }));
}

/** Rejects an account that is being erased, because parts of its data may already be missing. */
export function requireUsable(account: Account): Account {
  if (!account.erasureBeganAt) return account;
  throw new AdministrationError('conflict', t('refusals.account.in_erasure', { slug: account.slug }));
}

/** Rejects an account that is being erased or does not exist. Until the end of the transaction, no erasure can begin. */
export async function requireUsableAccount(db: Kysely<Tables>, accountId: number): Promise<void> {
  const { slug, erasure_began_at } = await db
    .selectFrom('accounts')
    .select(['slug', 'erasure_began_at'])
    .where('id', '=', accountId)
    .forKeyShare()
    .executeTakeFirstOrThrow(accountIsGone);
  if (erasure_began_at !== null) {
    throw new AdministrationError('conflict', t('refusals.account.in_erasure', { slug }));
  }
}

const selectAccountLocked = query('lock_account', (db, $: Arguments<{ accountId: number }>) =>
  db.selectFrom('accounts').select('id').where('id', '=', $.accountId).forNoKeyUpdate(),
);

/**
 * Locks an account. Operations that change its members or its blocked users take this lock first. So do operations that
 * create a token, a webhook or a chat channel. These operations therefore run one after the other.
 */
export async function lockAccount(db: Queryable, accountId: number): Promise<void> {
  await db.query(selectAccountLocked, { accountId });
}

export async function requireLockedAccount(admin: Administration, accountId: number): Promise<Account> {
  await lockAccount(admin, accountId);
  const options = { refresh: true, failHandler: accountIsGone };
  return requireUsable(await admin.em.findOneOrFail(Account, accountId, options));
}

/**
 * `owners` contains the e-mail addresses of the owners, the owner with the longest membership first. If
 * `erasure_began_at` is not null, nobody can cancel the deletion.
 */
export type AccountView = InferResult<ReturnType<typeof accountViews>>[number];

/**
 * Selects all accounts, each with its owners, boards and members. `accountId` is the id that the subqueries for owners,
 * boards and members compare with. It is the column `a.id`, or a constant id if the caller selects only one account.
 */
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
      'a.join_rule',
      'a.join_domains',
      'a.requires_second_factor',
      'a.requires_provider',
      sql<string[]>`array(${owners})`.as('owners'),
      countAll(a.selectFrom('boards as b').where('b.account_id', '=', accountId)).as('board_count'),
      countAll(a.selectFrom('memberships as m').where('m.account_id', '=', accountId)).as('member_count'),
      'a.deletion_scheduled_at',
      'a.erasure_began_at',
      'a.created_at',
    ])
    .orderBy('a.slug');
}

export function listAccounts({ db }: Administration): Promise<AccountView[]> {
  return accountViews(db, sql.ref<number>('a.id')).execute();
}

export function readAccount({ db }: Administration, accountId: number): Promise<AccountView> {
  return accountViews(db, sql.val(accountId)).where('a.id', '=', accountId).executeTakeFirstOrThrow(accountIsGone);
}

/**
 * Reads when an account is scheduled for deletion. Also counts the account's failing webhooks, disabled webhooks and
 * disabled chat channels. A failing webhook still gets events, but a disabled webhook gets none.
 */
export function readAccountOverview({ db }: Administration, accountId: number) {
  const webhooks = db
    .selectFrom('webhook_endpoints as w')
    .where('w.account_id', '=', accountId)
    .select(({ fn }) => [
      fn
        .countAll<number>()
        .filterWhere('w.disabled_at', 'is', null)
        .filterWhere('w.failing_since', 'is not', null)
        .as('failing_webhooks'),
      fn.count<number>('w.disabled_at').as('disabled_webhooks'),
    ]);
  const channels = db
    .selectFrom('chat_channels as c')
    .where('c.account_id', '=', accountId)
    .select(({ fn }) => fn.count<number>('c.disabled_at').as('disabled_channels'));
  return db
    .selectFrom('accounts as a')
    .crossJoin(webhooks.as('w'))
    .crossJoin(channels.as('c'))
    .where('a.id', '=', accountId)
    .select(['a.deletion_scheduled_at', 'w.failing_webhooks', 'w.disabled_webhooks', 'c.disabled_channels'])
    .executeTakeFirstOrThrow(accountIsGone);
}

function accountIsGone() {
  return new AdministrationError('not_found', t('refusals.account.gone'));
}
