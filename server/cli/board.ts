import type { Administration } from '../domain/administration.ts';
import { createBoard, updateBoard } from '../domain/boards/edit-board.ts';
import { type BoardListing, listBoards, readBoardListing } from '../domain/boards/list-boards.ts';
import { listStatuses } from '../domain/statuses/board-statuses.ts';
import { listTags } from '../domain/tags/board-tags.ts';
import { onAccount, onBoard } from './choose.ts';
import { flag, given, noun, nullForNone, optional, parseBoolean, parseTimeOrNone, required } from './command.ts';
import { formatFacts, formatTable } from './output.ts';
import { formatStatuses } from './status.ts';
import { formatTags } from './tag.ts';

const time = (what: string) =>
  optional('<time|none>', `${what}: an RFC 3339 time, or none`, { parse: parseTimeOrNone });

export const addBoardCommands = noun('board', 'boards: people submit ideas to them, vote and follow the progress', {
  create: onAccount.operation({
    description: 'Creates a board with the six default statuses: open, planned, in_progress, done, declined, archived.',
    examples: ['board create --account acme --slug web-app --name "Web app" --pre-moderation'],
    input: {
      slug: required('<slug>', 'the short name: lower-case letters, digits and hyphens'),
      name: required('<name>', 'the name'),
      description: optional('<text>', 'the description'),
      preModeration: flag('hold new ideas for approval'),
      public: flag('let everybody read the board at /b/<slug>'),
      language: optional('<language>', 'the language of the ideas, such as german; simple by default'),
    },
    async run(admin, { id: accountId }, { public: isPublic, ...input }) {
      return readDetails(admin, await createBoard(admin, { ...input, ...given({ isPublic }), accountId }));
    },
    text: formatDetails,
  }),
  list: onAccount.operation({
    description: 'Lists the boards of an account.',
    examples: ['board list --account acme'],
    run: (admin, { id }) => listBoards(admin, id),
    text: rows =>
      formatTable(
        rows,
        'slug',
        'name',
        'is_frozen',
        ['pre-moderation', 'pre_moderation'],
        'is_public',
        ['pending', 'pending_count'],
        ['submissions', board => formatWindow(board.submissions_open_at, board.submissions_close_at)],
        ['voting', board => formatWindow(board.voting_open_at, board.voting_close_at)],
      ),
  }),
  show: onBoard.operation({
    description: 'Shows a board with its statuses and tags.',
    examples: ['board show --account acme --board web-app'],
    run: readDetails,
    text: formatDetails,
  }),
  update: onBoard.operation({
    description:
      'Changes a board. Omitted options stay unchanged. A window includes its opening time and excludes its closing time.',
    examples: [
      'board update --board web-app --freeze',
      'board update --board web-app --public true',
      'board update --board web-app --voting-open-at 2026-03-01T00:00:00Z --voting-close-at 2026-04-01T00:00:00Z',
      'board update --board web-app --voting-close-at none',
    ],
    input: {
      name: optional('<name>', 'another name'),
      slug: optional('<slug>', 'another slug; update the clients that name the board'),
      description: optional('<text>', 'another description'),
      freeze: flag('refuse writes'),
      unfreeze: flag('accept writes again', { conflicts: 'freeze' }),
      preModeration: flag('hold new ideas for approval'),
      noPreModeration: flag('publish new ideas at once'),
      language: optional(
        '<language>',
        'the language of the ideas, such as german: the search for similar ideas uses it',
      ),
      public: optional('<true|false>', 'whether everybody may read the board at /b/<slug>', { parse: parseBoolean }),
      submissionsOpenAt: time('when submissions open'),
      submissionsCloseAt: time('when submissions close'),
      votingOpenAt: time('when voting opens'),
      votingCloseAt: time('when voting closes'),
    },
    async run(admin, board, { freeze, unfreeze, public: isPublic, ...options }) {
      const { submissionsOpenAt, submissionsCloseAt, votingOpenAt, votingCloseAt, ...changes } = options;
      const windows = {
        submissionsOpenAt: nullForNone(submissionsOpenAt),
        submissionsCloseAt: nullForNone(submissionsCloseAt),
        votingOpenAt: nullForNone(votingOpenAt),
        votingCloseAt: nullForNone(votingCloseAt),
      };
      const isFrozen = freeze ? true : unfreeze ? false : undefined;
      await updateBoard(admin, board, { ...changes, ...given({ ...windows, isFrozen, isPublic }) });
      return readDetails(admin, board);
    },
    text: formatDetails,
  }),
});

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

function formatBoard({
  submissions_open_at,
  submissions_close_at,
  voting_open_at,
  voting_close_at,
  pending_count,
  created_at,
  updated_at,
  ...board
}: BoardListing): string {
  const submissions = formatWindow(submissions_open_at, submissions_close_at);
  const voting = formatWindow(voting_open_at, voting_close_at);
  return formatFacts(
    { ...board, submissions, voting, pending_ideas: pending_count, created_at, updated_at },
    { pre_moderation: 'pre-moderation' },
  );
}

function formatWindow(openAt: string | null, closeAt: string | null): string {
  if (openAt === null && closeAt === null) return 'always';
  return [openAt && `from ${openAt}`, closeAt && `until ${closeAt}`].filter(Boolean).join(' ');
}
