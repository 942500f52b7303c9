import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { Account } from '../../entities/account.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { quote } from '../fields.ts';

export async function requireAccount(admin: Administration, slug: string): Promise<Account> {
  const account = await admin.em.findOne(Account, { slug });
  if (!account) throw new AdministrationError('not_found', `There is no account ${quote(slug)}`);
  return requireUsable(account);
}

/** By id, because another account may have the slug by now. */
export async function requireAccountById(admin: Administration, accountId: number): Promise<Account> {
  const account = await admin.em.findOne(Account, accountId);
  if (!account) throw new AdministrationError('not_found', 'The account is gone');
  return requireUsable(account);
}

/** Refuses an account whose erasure has begun: parts of it are missing. */
export function requireUsable(account: Account): Account {
  if (!account.erasureBeganAt) return account;
  throw new AdministrationError('conflict', `The account ${account.slug} is being erased`);
}

const selectAccountLocked = query('lock_account', (db, $: Arguments<{ accountId: number }>) =>
  db.selectFrom('accounts').select(['plan', 'erasure_began_at']).where('id', '=', $.accountId).forNoKeyUpdate(),
);

/** An account that nobody else changes until the transaction ends. */
export type LockedAccount = RowOf<typeof selectAccountLocked>;

/** Serializes changes that depend on what the account has: on its owners, or on the number of its webhooks. */
export async function lockAccount(admin: Administration, accountId: number): Promise<LockedAccount | undefined> {
  const [account] = await admin.query(selectAccountLocked, { accountId });
  return account;
}
