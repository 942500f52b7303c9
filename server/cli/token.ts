import { InvalidArgumentError } from 'commander';
import { type Grant, grants } from '../../contract/grants.ts';
import type { Administration } from '../domain/administration.ts';
import { requireBoard } from '../domain/boards/find-board.ts';
import { createToken, revokeToken } from '../domain/tokens/change-tokens.ts';
import { listTokens, readToken, type TokenListing } from '../domain/tokens/list-tokens.ts';
import { chooseAccount, chooseBoardOf, chooseIssuer, inAccount } from './choose.ts';
import { argument, noun, operation, optional, parsePositive, parseTime, required, withDefault } from './command.ts';
import { formatFacts, formatTable } from './output.ts';

/** A board as --board names it; without a level, the one of --level. */
interface NamedBoard {
  slug: string;
  level: Grant | undefined;
}

export const addTokenCommands = noun('token', 'tokens of the Agent API', {
  create: operation({
    description:
      'Creates a token and prints it, this once: only a hash of it is kept. It acts for its issuer, who must be an owner or admin of the account.',
    examples: [
      'token create --name "Support bot"',
      'token create --account acme --issuer ada@example.com --name Triage --board web-app=moderate --board mobile=read',
    ],
    input: {
      ...inAccount,
      issuer: optional('<email>', 'for whom it acts; may be left out when the account has one owner'),
      name: required('<name>', 'what it is called in lists'),
      board: optional(
        '<slug=level>',
        'a board and the level for it, again for each board; may be left out when the account has only one',
        { parse: addNamedBoard },
      ),
      level: withDefault('<level>', 'the level where --board names none', 'read', { choices: grants }),
      expiresAt: optional('<time>', 'when it ends: an RFC 3339 time', { parse: parseTime }),
      expiresInDays: optional('<number>', 'when it ends, from now', { parse: parseDays, conflicts: 'expiresAt' }),
    },
    async run(admin, { account, issuer, name, board: named, level, expiresAt, expiresInDays }, config) {
      const { id: accountId } = await chooseAccount(admin, account);
      const { id: issuerId } = await chooseIssuer(admin, accountId, issuer);
      const boards = await chooseBoards(admin, accountId, named, level);
      const expiry =
        expiresInDays === undefined ? (expiresAt ?? null) : new Date(admin.now.getTime() + expiresInDays * dayMs);
      const { token, plaintext } = await createToken(
        admin,
        { accountId, issuerId, name, boards, expiresAt: expiry },
        config.PLANS_WITHOUT_AGENT_API,
      );
      return { ...(await readToken(admin, accountId, token.id)), token: plaintext };
    },
    text: ({ token, ...listing }) => `${formatToken(listing)}\n\n${token}`,
    warning: 'This is the only time that the token is shown.',
  }),
  list: operation({
    description: 'Lists the tokens of an account, without their secrets.',
    examples: ['token list --account acme'],
    input: inAccount,
    run: async (admin, { account }) => listTokens(admin, (await chooseAccount(admin, account)).id),
    text: rows =>
      formatTable(
        rows,
        'id',
        'name',
        'kind',
        ['boards', formatGrants],
        'issuer',
        'state',
        'last_used_at',
        'expires_at',
        'revoked_at',
      ),
  }),
  revoke: operation({
    description: 'Revokes a token for good. Its votes stay counted.',
    examples: ['token revoke 7 --account acme'],
    input: { id: argument('<id>', 'the id of the token, as token list shows it', parsePositive), ...inAccount },
    async run(admin, { id, account }) {
      const { id: accountId } = await chooseAccount(admin, account);
      await revokeToken(admin, accountId, id);
      return readToken(admin, accountId, id);
    },
    text: formatToken,
  }),
});

async function chooseBoards(
  admin: Administration,
  accountId: number,
  named: NamedBoard[] | undefined,
  defaultLevel: Grant,
): Promise<{ boardId: number; grant: Grant }[]> {
  if (named === undefined) {
    const { id: boardId } = await chooseBoardOf(admin, accountId, undefined);
    return [{ boardId, grant: defaultLevel }];
  }
  const boards = [];
  for (const { slug, level } of named) {
    const { id: boardId } = await requireBoard(admin, accountId, slug);
    boards.push({ boardId, grant: level ?? defaultLevel });
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

function formatToken(token: TokenListing): string {
  return formatFacts({ ...token, boards: formatGrants(token) });
}

function formatGrants(token: TokenListing): string {
  return token.boards.map(({ slug, level }) => `${slug}=${level}`).join(', ');
}
