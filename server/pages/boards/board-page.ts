import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { ideaSorts } from '../../../contract/idea.ts';
import { defaultPerPage } from '../../../contract/pagination.ts';
import { IdeaStatus, StatusKey, statusOfCategory } from '../../../contract/status.ts';
import { text, word } from '../../../contract/text.ts';
import type { BoardView } from '../../domain/boards/read-board.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type IdeaFilter, listIdeas } from '../../domain/ideas/list-ideas.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import { t } from '../../text/catalogue.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { fieldOf, type Problem } from '../shell/form.ts';
import { readQuery } from '../shell/query.ts';
import type { Notices } from '../shell/visit.ts';
import { connectPath } from '../sign-in/provider-paths.ts';
import { type BoardVisit, boardOf, boardPath, pathOn } from './opened-board.ts';
import { moderationNotices } from './present-changes.ts';
import { describeClosed } from './present-closed.ts';
import {
  frameOfBoard,
  maxBodyLengthInList,
  presentExcerpt,
  presentIdea,
  presentOrders,
  votingOn,
} from './present-idea.ts';
import { presentJoin } from './present-join.ts';
import { findTag, presentTagFilter, tagPathsOf } from './tag-filter.ts';

const BoardQuery = z.object({
  status: IdeaStatus.optional(),
  status_key: StatusKey.optional(),
  tag: text(1, 40).optional(),
  q: text(0, 100).optional(),
  sort: z.enum(ideaSorts).default('newest'),
  cursor: word(500).optional(),
});
type BoardQuery = z.output<typeof BoardQuery>;

const notices = {
  confirm: 'boards.notices.confirm',
  awaits_approval: 'boards.notices.awaits_approval',
  idea_deleted: 'boards.notices.idea_deleted',
  ...moderationNotices,
} satisfies Notices;

/** Shows the ideas of a board, filtered by status, tag and search text, in the order that the visitor has chosen. */
export async function showBoard(visit: BoardVisit, problem?: Problem) {
  const query = readQuery(BoardQuery, visit.request.query);
  const { board, read, slug } = boardOf(visit.request);
  const tag = findTag(board, query.tag);
  if (query.tag !== undefined && !tag) throw new DomainError('not_found');
  const filter: IdeaFilter = {
    status: query.status,
    statusKey: query.status_key,
    tagId: tag?.id,
    q: query.q,
    sort: query.sort,
    isPending: false,
    maxBodyLength: maxBodyLengthInList,
    tagsOfBoard: board.tags,
  };
  const place = placeOf(query, query.sort, defaultPerPage);
  const visible = board.statuses.filter(status => !status.is_hidden);
  // A hidden status gets the same 404 as an unknown status.
  if (query.status_key !== undefined && !visible.some(({ key }) => key === query.status_key)) {
    throw new DomainError('not_found');
  }
  const page = await listIdeas(read, filter, place);
  const isWhole = Object.keys(changesOf(query)).length === 0;
  const frame = frameOfBoard(visit, board, {
    view: 'ideas',
    description: board.description,
    canonicalPath: isWhole ? boardPath(slug) : undefined,
  });
  const data = {
    ...presentBoard(visit, { ...board, statuses: visible }, { ...query, tag: tag?.name }, page),
    join: await presentJoin(visit, boardPath(slug)),
  };
  return visit.page('board', frame, data, { ...noticesOf(visit), problem });
}

/**
 * Returns the notices of the page. One notice of an embedded board leads to the page where an existing user confirms
 * that they are the person on the embedding website.
 */
function noticesOf({ request }: BoardVisit) {
  if (!boardOf(request).isEmbedded) return { notices };
  const values = { href: connectPath(fieldOf(request.query, 'connection'), boardPath(boardOf(request).slug)) };
  return { notices: { ...notices, connect: 'embedding.connect.notice_html' as const }, values };
}

/**
 * Returns the path of the list that contained a submitted form. `text` is the query of the list, beginning with `?`.
 */
export function listPathOf(request: FastifyRequest, text: string): string {
  const query = readQuery(BoardQuery, Object.fromEntries(new URLSearchParams(text.slice(1))));
  return pathOn(request, '', changesOf(query));
}

function presentBoard(visit: BoardVisit, board: BoardView, query: BoardQuery, page: Page<IdeaView>) {
  const { q, sort, status, status_key, tag } = query;
  const { request } = visit;
  const link = (changes: Partial<BoardQuery>) =>
    pathOn(request, '', changesOf({ ...query, cursor: undefined, ...changes }));
  const named = findTag(board, tag);
  const isFiltered = [q, status, status_key, tag].some(filter => filter !== undefined);
  const [noIdeas, noVotes] = (['submissions', 'voting'] as const).map(what =>
    describeClosed(board, what, visit.server.clock.now()),
  );
  const voting = votingOn(visit, board, `?${new URLSearchParams(changesOf(query))}`);
  return {
    name: shortLine(board.name, 100),
    description: board.description === '' ? undefined : linkedText(board.description),
    closed: [noIdeas, board.is_frozen ? undefined : noVotes].filter(sentence => sentence !== undefined),
    searchPath: boardOf(request).root,
    newPath:
      boardOf(request).member && !noIdeas ? pathOn(request, '/new', q === undefined ? {} : { title: q }) : undefined,
    q: q ?? '',
    // The search form sends the current filters and the current order in hidden fields, so that a search keeps the
    // filters and the order.
    kept: Object.entries({ ...boardOf(request).parameters, ...changesOf({ status, status_key, tag, sort }) }).map(
      ([name, value]) => ({ name, value }),
    ),
    statuses: [
      {
        label: t('shell.labels.all'),
        href: link({ status: undefined, status_key: undefined }),
        isCurrent: status === undefined && status_key === undefined,
      },
      ...board.statuses.map(({ key, category, label }) => ({
        label: shortLine(label, 60),
        href: link({ status: undefined, status_key: key }),
        isCurrent: status_key === undefined ? statusOfCategory[category] === status : status_key === key,
      })),
    ],
    orders: presentOrders(sort, one => link({ sort: one })),
    tag: named && presentTagFilter(named, link({ tag: undefined })),
    heading: q === undefined ? t('shell.labels.ideas') : t('boards.board.found', { q: shortLine(q, 100, '…') }),
    isFiltered,
    everything: { label: t('boards.board.all_ideas'), href: pathOn(request) },
    ideas: page.rows.map(idea => ({
      ...presentIdea(idea, tagPathsOf(request)),
      excerpt: presentExcerpt(idea.body),
      href: pathOn(request, `/ideas/${idea.id}`),
      ...voting(idea),
    })),
    first: query.cursor === undefined ? undefined : { label: t('boards.board.first_page'), href: link({}) },
    next:
      page.nextCursor === null
        ? undefined
        : { label: t('shell.labels.more_ideas'), href: link({ cursor: page.nextCursor }) },
  };
}

function changesOf({ status, status_key, tag, q, sort, cursor }: Partial<BoardQuery>): Record<string, string> {
  const values = { q, status, status_key, tag, sort: sort === 'newest' ? undefined : sort, cursor };
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
