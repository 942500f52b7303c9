import { requireAccount, requireUsable } from '../domain/accounts/find-account.ts';
import type { Administration } from '../domain/administration.ts';
import { requireBoard } from '../domain/boards/find-board.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { Account } from '../entities/account.ts';
import { Board } from '../entities/board.ts';
import { Membership } from '../entities/membership.ts';
import { User } from '../entities/user.ts';
import { CliError } from './cli-error.ts';

/** The account that is named, else the only one. */
export async function chooseAccount(admin: Administration, slug: string | undefined): Promise<Account> {
  if (slug !== undefined) return requireAccount(admin, slug);
  const accounts = await admin.em.find(Account, {}, { limit: 2 });
  const account = onlyOne(accounts, {
    none: 'There is no account yet: make one with account create',
    several: 'There are several accounts: name one with --account',
  });
  return requireUsable(account);
}

/** The board of an account that is named, else its only one. */
export async function chooseBoard(admin: Administration, accountId: number, slug: string | undefined): Promise<Board> {
  if (slug !== undefined) return requireBoard(admin, accountId, slug);
  const boards = await admin.em.find(Board, { accountId }, { limit: 2 });
  return onlyOne(boards, {
    none: 'The account has no board yet: make one with board create',
    several: 'The account has several boards: name one with --board',
  });
}

/** The user that is named, else the only owner of an account. */
export async function chooseIssuer(admin: Administration, accountId: number, email: string | undefined): Promise<User> {
  if (email !== undefined) return requireUser(admin, email);
  const owners = await admin.em.find(Membership, { accountId, role: 'owner' }, { limit: 2 });
  const owner = onlyOne(owners, {
    none: 'The account has no owner: name an admin with --issuer',
    several: 'The account has several owners: name one with --issuer',
  });
  return admin.em.findOneOrFail(User, owner.userId);
}

function onlyOne<T>(found: T[], { none, several }: { none: string; several: string }): T {
  const [one, another] = found;
  if (one === undefined) throw new CliError(none);
  if (another !== undefined) throw new CliError(several);
  return one;
}
