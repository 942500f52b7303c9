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
import {
  type Inputs,
  type NoInputs,
  operation,
  optional,
  required,
  type Values,
  type Verb,
  type VerbRow,
} from './command.ts';

export const inAccount = { account: optional('<slug>', 'the account; not needed if there is only one') };

interface TargetRow<Named extends Inputs, Row extends Inputs> extends Omit<VerbRow<Named & Row>, 'input'> {
  input?: Row;
}

/**
 * The part of an operation that works on the operation's target, such as a board. `values` contains only the inputs
 * that do not identify the target.
 */
type Work<Target, Row extends Inputs, Result> = (
  admin: Administration,
  target: Target,
  values: Values<Row>,
  config: Config,
) => Promise<Result>;

/** Builds operations on one kind of target, such as a board. `named` lists the inputs that identify the target. */
export function onTarget<Named extends Inputs, Target>(
  named: Named,
  find: (admin: Administration, values: Values<Named>, config: Config) => Promise<Target>,
) {
  function operationOn<Row extends Inputs = NoInputs, Result = unknown>({
    input,
    run,
    ...row
  }: TargetRow<Named, Row> & {
    run: Work<Target, Row, Result>;
    text(result: NoInfer<Result>, values: Values<Named & Row>): string;
    warning?: string;
  }): Verb {
    return operation<Named & Row, Result>({
      ...row,
      input: { ...named, ...(input as Row) },
      async run(admin, values, config) {
        const target = await find(admin, values as unknown as Values<Named>, config);
        const others = Object.entries(values).filter(([key]) => !(key in named));
        return run(admin, target, Object.fromEntries(others) as Values<Row>, config);
      },
    });
  }

  return {
    operation: operationOn,
    /** Builds operations that change a target, then read the target again and print it. */
    changing<View>(read: (admin: Administration, target: Target) => Promise<View>, text: (view: View) => string) {
      return <Row extends Inputs = NoInputs>({
        change,
        ...row
      }: TargetRow<Named, Row> & { change: Work<Target, Row, unknown> }) =>
        operationOn<Row, View>({
          ...row,
          async run(admin, target, values, config) {
            await change(admin, target, values, config);
            return read(admin, target);
          },
          text,
        });
    },
  };
}

export const onAccount = onTarget(inAccount, (admin, { account }) => chooseAccount(admin, account));

export const onBoard = onTarget(
  { ...inAccount, board: optional('<slug>', 'the board; not needed if the account has only one') },
  async (admin, { account, board }) => chooseBoard(admin, (await chooseAccount(admin, account)).id, board),
);

/** The target is an account and either the id of one board or null for all boards. */
export const onBoards = onTarget(
  { ...inAccount, board: optional('<slug>', 'only this board; every board of the account if omitted') },
  async (admin, { account, board }) => {
    const { id: accountId } = await chooseAccount(admin, account);
    const boardId = board === undefined ? null : (await requireBoard(admin, accountId, board)).id;
    return { accountId, boardId };
  },
);

const ofUser = { user: required('<email>', "the user's email address or id") };

export const onUser = onTarget(ofUser, (admin, { user }) => requireUser(admin, user));

/** The target is an account id with a user id. The user need not be a member of the account. */
export const onMember = onTarget({ ...inAccount, ...ofUser }, async (admin, { account, user }) => {
  const { id: accountId } = await chooseAccount(admin, account);
  const { id: userId } = await requireUser(admin, user);
  return { accountId, userId };
});

/** Finds an account by its slug. Without a slug, finds the only account. */
export async function chooseAccount(admin: Pick<Administration, 'em'>, slug: string | undefined): Promise<Account> {
  if (slug !== undefined) return requireAccount(admin, slug);
  const accounts = await admin.em.find(Account, {}, { limit: 2 });
  const account = onlyOne(accounts, {
    none: 'There is no account yet: make one with account create',
    several: 'There are several accounts: name one with --account',
  });
  return requireUsable(account);
}

/** Finds a board by its slug. Without a slug, finds the account's only board. */
export async function chooseBoard(admin: Administration, accountId: number, slug: string | undefined): Promise<Board> {
  if (slug !== undefined) return requireBoard(admin, accountId, slug);
  const boards = await admin.em.find(Board, { accountId }, { limit: 2 });
  return onlyOne(boards, {
    none: 'The account has no board yet: make one with board create',
    several: 'The account has several boards: name one with --board',
  });
}

/** Finds a token's issuer by e-mail address or id. Without an address or id, finds the account's only owner. */
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
 * Returns BASE_URL if it is set. Otherwise returns the URL that the last started server recorded, because this command
 * and the server may have different values of PORT. Without a recorded URL, returns the default BASE_URL.
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
