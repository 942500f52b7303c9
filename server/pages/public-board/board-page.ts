import { z } from 'zod';
import { defaultPerPage } from '../../../contract/pagination.ts';
import { IdeaStatus, StatusKey, statusOfCategory } from '../../../contract/status.ts';
import { text, word } from '../../../contract/text.ts';
import type { Config } from '../../config.ts';
import { type BoardView, readBoard } from '../../domain/boards/read-board.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type IdeaFilter, listIdeas } from '../../domain/ideas/list-ideas.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import type { Standing } from '../../domain/members/join-account.ts';
import type { ReadOperation } from '../../domain/operation.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import type { Html } from '../../text/html.ts';
import { shortLine } from '../../text/plain-text.ts';
import { definePage } from '../shell/page.ts';
import { readQuery } from '../shell/query.ts';
import { boardFrame, boardPath, ideaPath, presentIdea, type VisitorPart } from './present-idea.ts';

const BoardQuery = z.object({
  status: IdeaStatus.optional(),
  status_key: StatusKey.optional(),
  q: text(0, 100).optional(),
  sort: z.enum(['newest', 'top']).default('newest'),
  cursor: word(500).optional(),
});
type BoardQuery = z.output<typeof BoardQuery>;

const boardPage = definePage<object>('pages/public-board/board');

const excerptLength = 220;

const notices = {
  confirm: 'We mailed you a link. Open it to confirm your address. Then you can join.',
};

/**
 * Renders the ideas of a public board, filtered by status and search text. The newest or the most popular ideas come
 * first.
 */
export async function showBoard(
  op: ReadOperation,
  config: Pick<Config, 'BASE_URL' | 'SMTP_URL'>,
  given: unknown,
  visitor: VisitorPart & { standing?: Standing; notice?: string },
): Promise<Html> {
  const query = readQuery(BoardQuery, given);
  const filter: IdeaFilter = {
    status: query.status,
    statusKey: query.status_key,
    q: query.q,
    sort: query.sort,
    isPending: false,
  };
  const place = placeOf(query, query.sort, defaultPerPage);
  const [board, page] = await Promise.all([readBoard(op), listIdeas(op, filter, place)]);
  const visible = board.statuses.filter(status => !status.is_hidden);
  // A hidden status gets the same 404 as an unknown status.
  if (query.status_key !== undefined && !visible.some(({ key }) => key === query.status_key)) {
    throw new DomainError('not_found');
  }
  const isWhole = Object.keys(changesOf(query)).length === 0;
  const frame = boardFrame(board, {
    config,
    visitor,
    title: shortLine(board.name, 100),
    ...(isWhole ? { canonicalPath: boardPath(board.slug) } : {}),
  });
  return boardPage(frame, {
    ...presentBoard({ ...board, statuses: visible }, query, page),
    notice: visitor.notice === 'confirm' ? notices.confirm : undefined,
    join: presentJoin(board.slug, visitor.standing, config),
  });
}

/** Returns the form for a signed-in person who may join the account of the board. */
function presentJoin(slug: string, standing: Standing | undefined, { SMTP_URL }: Pick<Config, 'SMTP_URL'>) {
  const mustConfirm = standing === 'must_confirm';
  if (standing !== 'may_join' && !(mustConfirm && SMTP_URL !== undefined)) return undefined;
  return { action: `${boardPath(slug)}/join`, mustConfirm };
}

function presentBoard(board: BoardView, query: BoardQuery, page: Page<IdeaView>) {
  const { q, sort, status, status_key } = query;
  const link = (changes: Partial<BoardQuery>) => addressOf(board.slug, { ...query, cursor: undefined, ...changes });
  const isFiltered = q !== undefined || status !== undefined || status_key !== undefined;
  return {
    name: shortLine(board.name, 100),
    description: board.description,
    isFrozen: board.is_frozen,
    searchPath: boardPath(board.slug),
    q: q ?? '',
    // The search form sends the current status and order in hidden fields.
    kept: Object.entries(changesOf({ status, status_key, sort })).map(([name, value]) => ({ name, value })),
    statuses: [
      {
        label: 'All',
        href: link({ status: undefined, status_key: undefined }),
        isCurrent: status === undefined && status_key === undefined,
      },
      ...board.statuses.map(({ key, category, label }) => ({
        label: shortLine(label, 60),
        href: link({ status: undefined, status_key: key }),
        isCurrent: status_key === undefined ? statusOfCategory[category] === status : status_key === key,
      })),
    ],
    orders: [
      { label: 'Newest', href: link({ sort: 'newest' }), isCurrent: sort === 'newest' },
      { label: 'Top', href: link({ sort: 'top' }), isCurrent: sort === 'top' },
    ],
    heading: q === undefined ? 'Ideas' : `Ideas with “${shortLine(q, 100, '…')}” in the title`,
    isFiltered,
    everything: { label: 'Show all ideas', href: boardPath(board.slug) },
    ideas: page.rows.map(idea => ({
      ...presentIdea(idea),
      excerpt: shortLine(idea.body, excerptLength, ''),
      href: ideaPath(board.slug, idea.id),
    })),
    first: query.cursor === undefined ? undefined : { label: 'Back to the first page', href: link({}) },
    next: page.nextCursor === null ? undefined : { label: 'More ideas', href: link({ cursor: page.nextCursor }) },
  };
}

function addressOf(slug: string, query: Partial<BoardQuery>): string {
  const search = new URLSearchParams(changesOf(query)).toString();
  return search === '' ? boardPath(slug) : `${boardPath(slug)}?${search}`;
}

function changesOf({ status, status_key, q, sort, cursor }: Partial<BoardQuery>): Record<string, string> {
  const values = { q, status, status_key, sort: sort === 'newest' ? undefined : sort, cursor };
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
