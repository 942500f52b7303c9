import { z } from 'zod';
import { defaultPerPage } from '../../../contract/pagination.ts';
import { IdeaStatus, StatusKey, statusOfCategory } from '../../../contract/status.ts';
import { text, word } from '../../../contract/text.ts';
import type { Config } from '../../config.ts';
import { type BoardView, readBoard } from '../../domain/boards/read-board.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type IdeaFilter, listIdeas } from '../../domain/ideas/list-ideas.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import type { ReadOperation } from '../../domain/operation.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import type { Html } from '../../text/html.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { definePage } from '../shell/page.ts';
import { readQuery } from '../shell/query.ts';
import { boardFrame, boardPath, ideaPath, presentIdea } from './present-idea.ts';
import { findTag, presentTags } from './tag-filter.ts';

const BoardQuery = z.object({
  status: IdeaStatus.optional(),
  status_key: StatusKey.optional(),
  tag: text(1, 40).optional(),
  q: text(0, 100).optional(),
  sort: z.enum(['newest', 'top']).default('newest'),
  cursor: word(500).optional(),
});
type BoardQuery = z.output<typeof BoardQuery>;

const boardPage = definePage<object>('pages/public-board/board');

const excerptLength = 220;

/**
 * Renders the ideas of a public board, filtered by status, tag and search text. The newest or the most popular ideas come
 * first.
 */
export async function showBoard(op: ReadOperation, config: Pick<Config, 'BASE_URL'>, given: unknown): Promise<Html> {
  const query = readQuery(BoardQuery, given);
  const filter: IdeaFilter = {
    status: query.status,
    statusKey: query.status_key,
    q: query.q,
    sort: query.sort,
    isPending: false,
  };
  const place = placeOf(query, query.sort, defaultPerPage);
  const reading = readBoard(op);
  const tag = query.tag === undefined ? undefined : findTag(await reading, query.tag);
  const [board, page] = await Promise.all([reading, listIdeas(op, { ...filter, tagId: tag?.id }, place)]);
  const visible = board.statuses.filter(status => !status.is_hidden);
  // A hidden status gets the same 404 as an unknown status.
  if (query.status_key !== undefined && !visible.some(({ key }) => key === query.status_key)) {
    throw new DomainError('not_found');
  }
  const isWhole = Object.keys(changesOf(query)).length === 0;
  const frame = boardFrame(board, {
    config,
    title: shortLine(board.name, 100),
    view: 'ideas',
    description: board.description,
    ...(isWhole ? { canonicalPath: boardPath(board.slug) } : {}),
  });
  return boardPage(frame, presentBoard({ ...board, statuses: visible }, { ...query, tag: tag?.name }, page));
}

function presentBoard(board: BoardView, query: BoardQuery, page: Page<IdeaView>) {
  const { q, sort, status, status_key, tag } = query;
  const link = (changes: Partial<BoardQuery>) => addressOf(board.slug, { ...query, cursor: undefined, ...changes });
  const isFiltered = [q, status, status_key, tag].some(filter => filter !== undefined);
  return {
    name: shortLine(board.name, 100),
    description: board.description === '' ? undefined : linkedText(board.description),
    isFrozen: board.is_frozen,
    searchPath: boardPath(board.slug),
    q: q ?? '',
    // The search form sends the current status and order in hidden fields.
    kept: Object.entries(changesOf({ status, status_key, tag, sort })).map(([name, value]) => ({ name, value })),
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
    tag: tag === undefined ? undefined : { name: shortLine(tag, 40), removal: link({ tag: undefined }) },
    heading: q === undefined ? 'Ideas' : `Ideas with “${shortLine(q, 100, '…')}” in the title`,
    isFiltered,
    everything: { label: 'Show all ideas', href: boardPath(board.slug) },
    ideas: page.rows.map(idea => ({
      ...presentIdea(idea),
      tags: presentTags(board.slug, idea.tags),
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

function changesOf({ status, status_key, tag, q, sort, cursor }: Partial<BoardQuery>): Record<string, string> {
  const values = { q, status, status_key, tag, sort: sort === 'newest' ? undefined : sort, cursor };
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
