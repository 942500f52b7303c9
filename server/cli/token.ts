import { type Command, InvalidArgumentError, Option } from 'commander';
import { type Grant, grants } from '../../contract/grants.ts';
import type { Administration } from '../domain/administration.ts';
import { requireBoard } from '../domain/boards/find-board.ts';
import { createToken } from '../domain/tokens/create-token.ts';
import { listTokens, readToken, type TokenListing } from '../domain/tokens/list-tokens.ts';
import { revokeToken } from '../domain/tokens/revoke-token.ts';
import { administer } from './administer.ts';
import { chooseAccount, chooseBoard, chooseIssuer } from './choose.ts';
import { accountOption, addVerb, parsePositive, parseTime } from './command.ts';
import { formatFacts, formatTable, type OutputOptions, print } from './output.ts';

interface AccountOptions extends OutputOptions {
  account?: string;
}

/** A board as --board names it; without a level, the one of --level. */
interface NamedBoard {
  slug: string;
  level: Grant | undefined;
}

interface CreateOptions extends AccountOptions {
  issuer?: string;
  name: string;
  board?: NamedBoard[];
  level: Grant;
  expiresAt?: Date;
  expiresInDays?: number;
}

export function addTokenCommands(program: Command) {
  const noun = program.command('token').description('tokens of the Agent API');

  addVerb(
    noun,
    'create',
    'Creates a token and prints it, this once: only a hash of it is kept. It acts for its issuer, who must be an owner or admin of the account.',
    'token create --name "Support bot"',
    'token create --account acme --issuer ada@example.com --name Triage --board web-app=moderate --board mobile=read',
  )
    .addOption(accountOption())
    .option('--issuer <email>', 'for whom it acts; may be left out when the account has one owner')
    .requiredOption('--name <name>', 'what it is called in lists')
    .option(
      '--board <slug=level>',
      'a board and the level for it, again for each board; may be left out when the account has only one',
      addNamedBoard,
    )
    .addOption(new Option('--level <level>', 'the level where --board names none').choices(grants).default('read'))
    .option('--expires-at <time>', 'when it ends: an RFC 3339 time', parseTime)
    .addOption(
      new Option('--expires-in-days <number>', 'when it ends, from now').argParser(parseDays).conflicts('expiresAt'),
    )
    .action(create);

  addVerb(noun, 'list', 'Lists the tokens of an account, without their secrets.', 'token list --account acme')
    .addOption(accountOption())
    .action(list);

  addVerb(noun, 'revoke', 'Revokes a token for good. Its votes stay counted.', 'token revoke 7 --account acme')
    .argument('<id>', 'the id of the token, as token list shows it', parsePositive)
    .addOption(accountOption())
    .action(revoke);
}

async function create({ account: slug, issuer, name, board: named, level, ...options }: CreateOptions) {
  const view = await administer(async (admin, config) => {
    const { id: accountId } = await chooseAccount(admin, slug);
    const { id: issuerId } = await chooseIssuer(admin, accountId, issuer);
    const boards = await chooseBoards(admin, accountId, named, level);
    const { token, plaintext } = await createToken(
      admin,
      { accountId, issuerId, name, boards, expiresAt: expiryOf(options, admin.now) },
      config.PLANS_WITHOUT_AGENT_API,
    );
    return { ...(await readToken(admin, accountId, token.id)), token: plaintext };
  });
  print(options, view, ({ token, ...listing }) => `${formatToken(listing)}\n\n${token}`);
  if (!options.json) process.stderr.write('This is the only time that the token is shown.\n');
}

async function list({ account: slug, ...output }: AccountOptions) {
  const tokens = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    return listTokens(admin, accountId);
  });
  print(output, tokens, rows =>
    formatTable(rows, {
      ID: token => token.id,
      NAME: token => token.name,
      KIND: token => token.kind,
      BOARDS: formatGrants,
      ISSUER: token => token.issuer,
      STATE: token => token.state,
      'LAST USED': token => token.last_used_at,
      EXPIRES: token => token.expires_at,
      REVOKED: token => token.revoked_at,
    }),
  );
}

async function revoke(tokenId: number, { account: slug, ...output }: AccountOptions) {
  const view = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, slug);
    await revokeToken(admin, accountId, tokenId);
    return readToken(admin, accountId, tokenId);
  });
  print(output, view, formatToken);
}

async function chooseBoards(
  admin: Administration,
  accountId: number,
  named: NamedBoard[] | undefined,
  defaultLevel: Grant,
): Promise<{ boardId: number; grant: Grant }[]> {
  if (named === undefined) {
    const board = await chooseBoard(admin, accountId, undefined);
    return [{ boardId: board.id, grant: defaultLevel }];
  }
  const boards = [];
  for (const { slug, level } of named) {
    const board = await requireBoard(admin, accountId, slug);
    boards.push({ boardId: board.id, grant: level ?? defaultLevel });
  }
  return boards;
}

function addNamedBoard(text: string, previous: NamedBoard[] | undefined): NamedBoard[] {
  const [slug = '', level, ...rest] = text.split('=');
  const grant = grants.find(one => one === level);
  if (slug === '' || rest.length > 0 || (level !== undefined && grant === undefined)) {
    throw new InvalidArgumentError(`It must be <slug>=<level>, with a level of ${grants.join(', ')}.`);
  }
  return [...(previous ?? []), { slug, level: grant }];
}

const dayMs = 86_400_000;
const maxDays = 36_500;

function parseDays(text: string): number {
  const days = parsePositive(text);
  if (days > maxDays) throw new InvalidArgumentError(`It must be at most ${maxDays}.`);
  return days;
}

function expiryOf({ expiresAt, expiresInDays }: Pick<CreateOptions, 'expiresAt' | 'expiresInDays'>, now: Date) {
  if (expiresInDays !== undefined) return new Date(now.getTime() + expiresInDays * dayMs);
  return expiresAt ?? null;
}

function formatToken(token: TokenListing): string {
  return formatFacts({
    id: token.id,
    name: token.name,
    kind: token.kind,
    boards: formatGrants(token),
    issuer: token.issuer,
    state: token.state,
    'last used': token.last_used_at,
    expires: token.expires_at,
    revoked: token.revoked_at,
    created: token.created_at,
  });
}

function formatGrants(token: TokenListing): string {
  return token.boards.map(({ slug, level }) => `${slug}=${level}`).join(', ');
}
