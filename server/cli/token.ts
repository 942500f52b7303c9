import { InvalidArgumentError } from 'commander';
import { capabilities, type Grant, grants } from '../../contract/grants.ts';
import { createToken, revokeToken } from '../domain/tokens/change-tokens.ts';
import { listTokens, readToken, type TokenListing } from '../domain/tokens/list-tokens.ts';
import { chooseBoard, chooseIssuer, onAccount } from './choose.ts';
import { argument, noun, optional, parsePositive, parseTime, repeatable, required, withDefault } from './command.ts';
import { formatFacts, formatTable } from './output.ts';

/**
 * A value of --board. Without a slug, it means the account's only board. Without a grant, the grant from --grant
 * applies.
 */
interface NamedBoard {
  slug?: string;
  grant?: Grant | undefined;
}

export const addTokenCommands = noun('token', 'tokens of the Agent API', {
  create: onAccount.operation({
    description:
      'Creates a token and prints it. The token is shown only once, because the database stores only its hash. It acts for its issuer, an owner or admin of the account.',
    examples: [
      'token create --name "Support bot"',
      'token create --account acme --issuer ada@example.com --name Triage --board web-app=moderate --board mobile=read',
      'token create --name Terraform --capability manage_webhooks',
    ],
    input: {
      issuer: optional('<email>', 'the user that the token acts as; not needed if the account has one owner'),
      name: required('<name>', 'the name in lists'),
      board: optional(
        '<slug=grant>',
        'a board with its grant; repeatable; not needed if the account has only one board',
        { parse: addNamedBoard },
      ),
      grant: withDefault('<grant>', 'the grant for boards without their own', 'read', { choices: grants }),
      capability: repeatable(
        '<capability>',
        'a capability of the token, in addition to its grants; repeatable',
        capabilities,
      ),
      expiresAt: optional('<time>', 'the expiry: an RFC 3339 time', { parse: parseTime }),
      expiresInDays: optional('<number>', 'the expiry in days from now', { parse: parseDays, conflicts: 'expiresAt' }),
    },
    async run(
      admin,
      { id: accountId },
      { issuer, name, board, grant, capability = [], expiresAt, expiresInDays },
      config,
    ) {
      const { id: issuerId } = await chooseIssuer(admin, accountId, issuer);
      const boards = [];
      const named: NamedBoard[] = board ?? [{}];
      for (const { slug, grant: own = grant } of named) {
        boards.push({ boardId: (await chooseBoard(admin, accountId, slug)).id, grant: own });
      }
      const expiry =
        expiresInDays === undefined ? (expiresAt ?? null) : new Date(admin.now.getTime() + expiresInDays * dayMs);
      const { token, plaintext } = await createToken(
        admin,
        { accountId, issuerId, name, boards, capabilities: capability, expiresAt: expiry },
        config.PLANS_WITHOUT_AGENT_API,
      );
      return { ...(await readToken(admin, accountId, token.id)), token: plaintext };
    },
    text: ({ token, ...listing }) => `${formatToken(listing)}\n\n${token}`,
    warning: 'This is the only time that the token is shown.',
  }),
  list: onAccount.operation({
    description: 'Lists the tokens of an account without their secrets.',
    examples: ['token list --account acme'],
    run: (admin, { id }) => listTokens(admin, id),
    text: rows =>
      formatTable(
        rows,
        'id',
        'name',
        'kind',
        ['boards', formatGrants],
        ['capabilities', formatCapabilities],
        'issuer',
        'state',
        'last_used_at',
        'expires_at',
        'revoked_at',
      ),
  }),
  revoke: onAccount.operation({
    description: 'Revokes a token permanently. Its votes still count.',
    examples: ['token revoke 7 --account acme'],
    input: { id: argument('<id>', 'the id of the token, from token list', parsePositive) },
    async run(admin, { id: accountId }, { id }) {
      await revokeToken(admin, accountId, id);
      return readToken(admin, accountId, id);
    },
    text: formatToken,
  }),
});

function addNamedBoard(text: string, previous: NamedBoard[] | undefined): NamedBoard[] {
  const [slug = '', named, ...rest] = text.split('=');
  const grant = grants.find(one => one === named);
  if (slug === '' || rest.length > 0 || (named !== undefined && grant === undefined)) {
    throw new InvalidArgumentError(`It must be <slug>=<grant>, with a grant of ${grants.join(', ')}.`);
  }
  return [...(previous ?? []), { slug, grant }];
}

const dayMs = 86_400_000;
const maxDays = 36_500;

function parseDays(text: string): number {
  const days = parsePositive(text);
  if (days > maxDays) throw new InvalidArgumentError(`It must be at most ${maxDays}.`);
  return days;
}

function formatToken(token: TokenListing): string {
  return formatFacts({ ...token, boards: formatGrants(token), capabilities: formatCapabilities(token) });
}

function formatCapabilities(token: TokenListing): string {
  return token.capabilities.join(', ');
}

function formatGrants(token: TokenListing): string {
  return token.boards.map(({ slug, level }) => `${slug}=${level}`).join(', ');
}
