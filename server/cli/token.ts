import { InvalidArgumentError } from 'commander';
import { capabilities, type Grant, grants } from '../../contract/grants.ts';
import { createToken, restrictToken, revokeToken } from '../domain/tokens/change-tokens.ts';
import { listTokens, readToken, type TokenListing } from '../domain/tokens/list-tokens.ts';
import { checkRestrictions, type Restrictions } from '../domain/tokens/restrictions.ts';
import { defaultOverlapHours, endOldSecret, maxOverlapHours, rotateToken } from '../domain/tokens/rotate-token.ts';
import { chooseBoard, chooseIssuer, onAccount } from './choose.ts';
import {
  argument,
  flag,
  given,
  noun,
  optional,
  parseHours,
  parsePositive,
  parseTime,
  repeatable,
  required,
  withDefault,
} from './command.ts';
import { formatFacts, formatTable } from './output.ts';

/**
 * One value of the option --board. Without a slug, the value means the account's only board. Without a grant, the grant
 * of the option --grant applies.
 */
interface NamedBoard {
  slug?: string;
  grant?: Grant | undefined;
}

const expiryInput = {
  expiresAt: optional('<time>', 'the expiry: an RFC 3339 time', { parse: parseTime }),
  expiresInDays: optional('<number>', 'the expiry in days from now', { parse: parseDays, conflicts: 'expiresAt' }),
};

const restrictionInput = {
  readLimit: optional('<number>', "the token's own limit of reads in a minute", { parse: parsePositive }),
  writeLimit: optional('<number>', "the token's own limit of writes in an hour", { parse: parsePositive }),
  network: optional('<cidr>', 'a network that the token works in, such as 203.0.113.0/24; repeatable', {
    parse: (text: string, previous: string[] = []) => [...previous, text],
  }),
};

const plaintextWarning = 'This is the only time that the token is shown.';

const idInput = argument('<id>', 'the id of the token, from token list', parsePositive);

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
      ...expiryInput,
      ...restrictionInput,
    },
    async run(admin, { id: accountId }, { issuer, name, board, grant, capability = [], ...input }, config) {
      const { id: issuerId } = await chooseIssuer(admin, accountId, issuer);
      const boards = [];
      const named: NamedBoard[] = board ?? [{}];
      for (const { slug, grant: own = grant } of named) {
        boards.push({ boardId: (await chooseBoard(admin, accountId, slug)).id, grant: own });
      }
      const { readLimit = null, writeLimit = null, network: allowedNetworks = [] } = input;
      const restrictions = checkRestrictions({ readLimit, writeLimit, allowedNetworks }, config);
      const { token, plaintext } = await createToken(
        admin,
        {
          accountId,
          issuerId,
          name,
          boards,
          capabilities: capability,
          expiresAt: expiryOf(input, admin.now) ?? null,
          restrictions,
        },
        config.PLANS_WITHOUT_AGENT_API,
      );
      return { ...(await readToken(admin, accountId, token.id)), token: plaintext };
    },
    text: formatWithPlaintext,
    warning: plaintextWarning,
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
        'last_used_network',
        'last_used_client',
        'expires_at',
        'old_secret_expires_at',
        'revoked_at',
      ),
  }),
  rotate: onAccount.operation({
    description:
      'Gives a token a new secret and prints the token, only once. Its id, voter, boards and limits stay. The old secret works for some hours more.',
    examples: ['token rotate 7 --account acme', 'token rotate 7 --overlap-hours 0 --expires-in-days 90'],
    input: {
      id: idInput,
      overlapHours: optional(
        '<number>',
        `hours until the old secret stops working; 0 for now; ${defaultOverlapHours} if omitted`,
        { parse: parseHours(maxOverlapHours) },
      ),
      replaceNewest: flag('replace only the newest secret, while the old secret of the last rotation still works', {
        conflicts: 'overlapHours',
      }),
      ...expiryInput,
    },
    async run(admin, { id: accountId }, { id, overlapHours = defaultOverlapHours, replaceNewest, ...input }) {
      const expiry = given({ expiresAt: expiryOf(input, admin.now) });
      const way = replaceNewest ? ({ replacesNewest: true } as const) : { overlapHours };
      const plaintext = await rotateToken(admin, accountId, id, { ...way, ...expiry });
      return { ...(await readToken(admin, accountId, id)), token: plaintext };
    },
    text: formatWithPlaintext,
    warning: plaintextWarning,
  }),
  'end-old-secret': onAccount.operation({
    description: 'Ends the old secret of a rotated token now. The newest secret keeps working.',
    examples: ['token end-old-secret 7 --account acme'],
    input: { id: idInput },
    async run(admin, { id: accountId }, { id }) {
      await endOldSecret(admin, accountId, id);
      return readToken(admin, accountId, id);
    },
    text: formatToken,
  }),
  restrict: onAccount.operation({
    description:
      'Replaces the own limits and the allowed networks of a token. An omitted limit ends, and without a network the token works everywhere.',
    examples: ['token restrict 7 --read-limit 30 --network 203.0.113.0/24 --network 2001:db8::/48', 'token restrict 7'],
    input: { id: idInput, ...restrictionInput },
    async run(admin, { id: accountId }, { id, readLimit = null, writeLimit = null, network = [] }, config) {
      const wanted: Restrictions = { readLimit, writeLimit, allowedNetworks: network };
      await restrictToken(admin, accountId, id, checkRestrictions(wanted, config));
      return readToken(admin, accountId, id);
    },
    text: formatToken,
  }),
  revoke: onAccount.operation({
    description: 'Revokes a token permanently. Its votes still count.',
    examples: ['token revoke 7 --account acme'],
    input: { id: idInput },
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

/** Returns the expiry from `expiresAt` or `expiresInDays`. Returns undefined if the command has neither option. */
function expiryOf(
  { expiresAt, expiresInDays }: { expiresAt?: Date; expiresInDays?: number },
  now: Date,
): Date | undefined {
  return expiresInDays === undefined ? expiresAt : new Date(now.getTime() + expiresInDays * dayMs);
}

function formatWithPlaintext({ token, ...listing }: TokenListing & { token: string }): string {
  return `${formatToken(listing)}\n\n${token}`;
}

function formatToken(token: TokenListing): string {
  return formatFacts({
    ...token,
    boards: formatGrants(token),
    capabilities: formatCapabilities(token),
    allowed_networks: token.allowed_networks.join(', '),
  });
}

function formatCapabilities(token: TokenListing): string {
  return token.capabilities.join(', ');
}

function formatGrants(token: TokenListing): string {
  return token.boards.map(({ slug, level }) => `${slug}=${level}`).join(', ');
}
