import type { Config } from '../config.ts';
import { requireAccount, requireUsable } from '../domain/accounts/find-account.ts';
import type { Administration } from '../domain/administration.ts';
import { requireBoard } from '../domain/boards/find-board.ts';
import { readServerAddress } from '../domain/server-address.ts';
import { requireUser } from '../domain/users/find-user.ts';
import { Account } from '../entities/account.ts';
import { Board } from '../entities/board.ts';
import { Membership } from '../entities/membership.ts';
import { User } from '../entities/user.ts';
import { CliError } from './administer.ts';
import { optional, required } from './command.ts';

export const inAccount = { account: optional('<slug>', 'the account; may be left out when there is only one') };

export const onBoard = {
  ...inAccount,
  board: optional('<slug>', 'the board; may be left out when the account has only one'),
};

export const ofUser = { user: required('<email>', 'the user, by address or id') };

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

/** The board of the account that is named, else its only one. */
export async function chooseBoard(admin: Administration, named: { account?: string; board?: string }): Promise<Board> {
  const { id: accountId } = await chooseAccount(admin, named.account);
  return chooseBoardOf(admin, accountId, named.board);
}

/** The board of an account that is named, else its only one. */
export async function chooseBoardOf(admin: Administration, accountId: number, slug: string | undefined) {
  if (slug !== undefined) return requireBoard(admin, accountId, slug);
  const boards = await admin.em.find(Board, { accountId }, { limit: 2 });
  return onlyOne(boards, {
    none: 'The account has no board yet: make one with board create',
    several: 'The account has several boards: name one with --board',
  });
}

/** Builds a function that changes something on a board and answers with what `read` then finds. */
export function changesOnBoard<Result>(read: (admin: Administration, board: Board) => Promise<Result>) {
  return async (
    admin: Administration,
    named: { account?: string; board?: string },
    change: (board: Board) => Promise<unknown>,
  ): Promise<Result> => {
    const board = await chooseBoard(admin, named);
    await change(board);
    return read(admin, board);
  };
}

/** The account with the id of the board that is named, or null for all its boards. */
export async function chooseFilter(admin: Administration, named: { account?: string; board?: string }) {
  const { id: accountId } = await chooseAccount(admin, named.account);
  const boardId = named.board === undefined ? null : (await requireBoard(admin, accountId, named.board)).id;
  return { accountId, boardId };
}

/** A user and an account by their ids. */
export async function chooseMember(admin: Administration, named: { account?: string; user: string }) {
  const { id: accountId } = await chooseAccount(admin, named.account);
  const { id: userId } = await requireUser(admin, named.user);
  return { accountId, userId };
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

/**
 * The origin of links that a command prints: BASE_URL, or else the address of the server that started last. The command
 * may have another HOST and PORT than the server.
 */
export async function findLinkBase(admin: Administration, config: Config): Promise<Pick<Config, 'BASE_URL'>> {
  const recorded = config.isBaseUrlSet ? undefined : await readServerAddress(admin);
  return { BASE_URL: recorded ?? config.BASE_URL };
}

function onlyOne<T>(found: T[], { none, several }: { none: string; several: string }): T {
  const [one, another] = found;
  if (one === undefined) throw new CliError(none);
  if (another !== undefined) throw new CliError(several);
  return one;
}
