import { type Command, Option } from 'commander';
import type { Administration } from '../domain/administration.ts';
import { createBoard } from '../domain/boards/create-board.ts';
import { type BoardListing, listBoards, readBoardListing } from '../domain/boards/list-boards.ts';
import { updateBoard } from '../domain/boards/update-board.ts';
import { listStatuses } from '../domain/statuses/list-statuses.ts';
import { listTags } from '../domain/tags/edit-tags.ts';
import { administer } from './administer.ts';
import { chooseAccount, chooseBoard } from './choose.ts';
import {
  accountOption,
  addVerb,
  boardOption,
  given,
  type None,
  nullForNone,
  parseBoolean,
  parseTimeOrNone,
} from './command.ts';
import { formatFacts, formatTable, type OutputOptions, print } from './output.ts';
import { formatStatuses } from './status.ts';
import { formatTags } from './tag.ts';

interface AccountOptions extends OutputOptions {
  account?: string;
}

interface BoardOptions extends AccountOptions {
  board?: string;
}

interface CreateOptions extends AccountOptions {
  slug: string;
  name: string;
  description?: string;
  preModeration?: true;
  public?: true;
}

interface UpdateOptions extends BoardOptions {
  name?: string;
  slug?: string;
  description?: string;
  freeze?: true;
  unfreeze?: true;
  preModeration?: boolean;
  public?: boolean;
  submissionsOpenAt?: Date | None;
  submissionsCloseAt?: Date | None;
  votingOpenAt?: Date | None;
  votingCloseAt?: Date | None;
}

export function addBoardCommands(program: Command) {
  const noun = program.command('board').description('boards: where ideas are submitted, voted on and moved along');

  addVerb(
    noun,
    'create',
    'Creates a board with the six default statuses: open, planned, in_progress, done, declined, archived.',
    'board create --account acme --slug web-app --name "Web app" --pre-moderation',
  )
    .addOption(accountOption())
    .requiredOption('--slug <slug>', 'its short name: lower-case letters, digits and hyphens')
    .requiredOption('--name <name>', 'what it is called')
    .option('--description <text>', 'what it is about')
    .option('--pre-moderation', 'let new ideas await approval')
    .option('--public', 'let everybody read it at /b/<slug>')
    .action(create);

  addVerb(noun, 'list', 'Lists the boards of an account.', 'board list --account acme')
    .addOption(accountOption())
    .action(list);

  addVerb(noun, 'show', 'Shows a board with its statuses and tags.', 'board show --account acme --board web-app')
    .addOption(accountOption())
    .addOption(boardOption())
    .action(show);

  addUpdate(noun);
}

function addUpdate(noun: Command) {
  const timeOption = (name: string, what: string) =>
    new Option(`--${name} <time|none>`, `${what}: an RFC 3339 time, or none`).argParser(parseTimeOrNone);
  addVerb(
    noun,
    'update',
    'Changes a board. What is not given stays as it is. A window is open from its opening, included, to its closing, excluded.',
    'board update --board web-app --freeze',
    'board update --board web-app --public true',
    'board update --board web-app --voting-open-at 2026-03-01T00:00:00Z --voting-close-at 2026-04-01T00:00:00Z',
    'board update --board web-app --voting-close-at none',
  )
    .addOption(accountOption())
    .addOption(boardOption())
    .option('--name <name>', 'another name')
    .option('--slug <slug>', 'another slug; clients that name the board use it, too')
    .option('--description <text>', 'another description')
    .option('--freeze', 'accept no writes')
    .addOption(new Option('--unfreeze', 'accept writes again').conflicts('freeze'))
    .option('--pre-moderation', 'let new ideas await approval')
    .option('--no-pre-moderation', 'publish new ideas at once')
    .addOption(
      new Option('--public <true|false>', 'whether everybody may read it at /b/<slug>').argParser(parseBoolean),
    )
    .addOption(timeOption('submissions-open-at', 'when ideas may be submitted from'))
    .addOption(timeOption('submissions-close-at', 'when ideas may be submitted until'))
    .addOption(timeOption('voting-open-at', 'when votes may be cast from'))
    .addOption(timeOption('voting-close-at', 'when votes may be cast until'))
    .action(update);
}

async function create({ account: slug, json, public: isPublic, ...input }: CreateOptions) {
  const view = await administer(async admin => {
    const account = await chooseAccount(admin, slug);
    const board = await createBoard(admin, { ...input, ...given({ isPublic }), accountId: account.id });
    return readDetails(admin, board);
  });
  print(given({ json }), view, formatDetails);
}

async function list({ account: slug, ...output }: AccountOptions) {
  const boards = await administer(async admin => {
    const account = await chooseAccount(admin, slug);
    return listBoards(admin, account.id);
  });
  print(output, boards, rows =>
    formatTable(rows, {
      SLUG: board => board.slug,
      NAME: board => board.name,
      FROZEN: board => board.is_frozen,
      'PRE-MODERATION': board => board.pre_moderation,
      PUBLIC: board => board.is_public,
      PENDING: board => board.pending_count,
      SUBMISSIONS: board => formatWindow(board.submissions_open_at, board.submissions_close_at),
      VOTING: board => formatWindow(board.voting_open_at, board.voting_close_at),
    }),
  );
}

async function show({ account, board, ...output }: BoardOptions) {
  const view = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, account);
    return readDetails(admin, await chooseBoard(admin, accountId, board));
  });
  print(output, view, formatDetails);
}

async function update({ account, board: slug, json, freeze, unfreeze, public: isPublic, ...options }: UpdateOptions) {
  const { submissionsOpenAt, submissionsCloseAt, votingOpenAt, votingCloseAt, ...changes } = options;
  const windows = given({
    submissionsOpenAt: nullForNone(submissionsOpenAt),
    submissionsCloseAt: nullForNone(submissionsCloseAt),
    votingOpenAt: nullForNone(votingOpenAt),
    votingCloseAt: nullForNone(votingCloseAt),
  });
  const view = await administer(async admin => {
    const { id: accountId } = await chooseAccount(admin, account);
    const board = await chooseBoard(admin, accountId, slug);
    const isFrozen = freeze ? true : unfreeze ? false : undefined;
    await updateBoard(admin, board, { ...changes, ...windows, ...given({ isFrozen, isPublic }) });
    return readDetails(admin, board);
  });
  print(given({ json }), view, formatDetails);
}

async function readDetails(admin: Administration, board: { id: number; accountId: number }) {
  return {
    ...(await readBoardListing(admin, board)),
    statuses: await listStatuses(admin, board),
    tags: await listTags(admin, board),
  };
}

function formatDetails({ statuses, tags, ...board }: Awaited<ReturnType<typeof readDetails>>): string {
  return [formatBoard(board), `Statuses\n${formatStatuses(statuses)}`, `Tags\n${formatTags(tags)}`].join('\n\n');
}

function formatBoard(board: BoardListing): string {
  return formatFacts({
    id: board.id,
    slug: board.slug,
    name: board.name,
    description: board.description,
    frozen: board.is_frozen,
    'pre-moderation': board.pre_moderation,
    public: board.is_public,
    submissions: formatWindow(board.submissions_open_at, board.submissions_close_at),
    voting: formatWindow(board.voting_open_at, board.voting_close_at),
    'pending ideas': board.pending_count,
    created: board.created_at,
    updated: board.updated_at,
  });
}

function formatWindow(openAt: string | null, closeAt: string | null): string {
  if (openAt === null && closeAt === null) return 'always';
  return [openAt && `from ${openAt}`, closeAt && `until ${closeAt}`].filter(Boolean).join(' ');
}
