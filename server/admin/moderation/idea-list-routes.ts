import { z } from 'zod';
import { ideaSorts } from '../../../contract/idea.ts';
import { StatusKey } from '../../../contract/status.ts';
import { text, word } from '../../../contract/text.ts';
import { listModeratedBoards, type ModeratedBoard } from '../../domain/boards/list-boards.ts';
import { type BoardView, readBoard } from '../../domain/boards/read-board.ts';
import { listIdeas } from '../../domain/ideas/list-ideas.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import { maxBodyLengthInList, presentExcerpt, presentIdea, presentOrders } from '../../pages/boards/present-idea.ts';
import { findTag, presentTagFilter } from '../../pages/boards/tag-filter.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { readQuery } from '../../pages/shell/query.ts';
import { shownName } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { shortLine } from '../../text/plain-text.ts';
import { boardOptions } from '../shell/choices.ts';
import { actOnBoard } from './act-on-board.ts';
import { ideaPath } from './way-back.ts';

export const IdeasQuery = z.object({
  board: word(100).optional(),
  status_key: StatusKey.optional(),
  tag: text(1, 40).optional(),
  q: text(0, 100).optional(),
  sort: z.enum(ideaSorts).default('newest'),
  cursor: word(500).optional(),
});
export type IdeasQuery = z.output<typeof IdeasQuery>;

/**
 * The number of ideas on a page, so that the page loads quickly on a phone. list-ideas.ts has a fast SQL statement for
 * this page size.
 */
export const ideasPerPage = 20;

/**
 * The page where moderators see a board's ideas. It lists ideas in a hidden status only if the moderator filters by
 * that status.
 */
export const ideaListRoute: Route = { path: '/admin/ideas', show: showIdeas };

export async function showIdeas(visit: Visit, problem?: Problem) {
  const query = readQuery(IdeasQuery, visit.request.query);
  const number = ideaNumberIn(query.q);
  if (number !== undefined) return visit.path(ideaPath(number));
  const boards = await visit.administer(admin => listModeratedBoards(admin, visit.account.id));
  const slug = query.board ?? boards[0]?.slug;
  const board = slug === undefined ? undefined : await showBoard(visit, boards, { ...query, board: slug });
  return visit.page('moderation/ideas', t('shell.labels.ideas'), { board }, { problem });
}

function showBoard(visit: Visit, boards: ModeratedBoard[], given: IdeasQuery & { board: string }) {
  return actOnBoard(visit, given.board, async op => {
    const board = await readBoard(op);
    const { sort } = given;
    const filter = { ...filterOf(board, given), sort, isPending: false, maxBodyLength: maxBodyLengthInList };
    const { q, statusKey } = filter;
    const tag = findTag(board, given.tag);
    const query = { ...given, status_key: statusKey, tag: tag?.name };
    const page = await listIdeas(op, filter, visit.place(sort, ideasPerPage));
    const kept = (changes: Partial<IdeasQuery> = {}) => parametersOf({ ...query, cursor: undefined, ...changes });
    const path = (changes: Partial<IdeasQuery>) => visit.path('/admin/ideas', kept(changes));
    const hasHidden = board.statuses.some(status => status.is_hidden);
    return {
      name: shownName(board.name),
      isFrozen: board.is_frozen,
      boards: boardOptions(boards, board.slug),
      slug: board.slug,
      q: q ?? '',
      kept: hiddenFieldsOf(path({ q: undefined, board: undefined })),
      statuses: [
        {
          label: hasHidden ? t('moderation.ideas.all_but_hidden') : t('shell.labels.all'),
          href: path({ status_key: undefined }),
          isCurrent: statusKey === undefined,
        },
        ...board.statuses.map(({ key, label, is_hidden }) => ({
          label: is_hidden
            ? t('moderation.ideas.hidden_status', { status: shortLine(label, 60) })
            : shortLine(label, 60),
          href: path({ status_key: key }),
          isCurrent: statusKey === key,
        })),
      ],
      tag: tag && presentTagFilter(tag, path({ tag: undefined })),
      orders: presentOrders(sort, one => path({ sort: one })),
      heading: q === undefined ? t('shell.labels.ideas') : headingOfSearch(q),
      isFiltered: [q, statusKey, tag].some(one => one !== undefined),
      everything: {
        label: t('moderation.ideas.show_all'),
        href: path({ q: undefined, status_key: undefined, tag: undefined }),
      },
      exportPath: visit.path('/admin/ideas/export', kept()),
      ideas: page.rows.map(idea => listedIdea(idea, visit.path(ideaPath(idea.id)), name => path({ tag: name }))),
      ...visit.pageLinks('/admin/ideas', 'cursor', page.nextCursor, { kept: kept() }),
    };
  });
}

/**
 * Returns the filter of a list. Ignores a status or a tag that the board does not have, because the moderator may have
 * just switched to another board.
 */
export function filterOf(board: BoardView, { q, status_key, tag }: IdeasQuery) {
  const statusKey = board.statuses.find(({ key }) => key === status_key)?.key;
  return { q, statusKey, tagId: findTag(board, tag)?.id, tagsOfBoard: board.tags };
}

function parametersOf({ board, status_key, tag, q, sort, cursor }: Partial<IdeasQuery>): Record<string, string> {
  const values = { board, status_key, tag, q, sort: sort === 'newest' ? undefined : sort, cursor };
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

export function hiddenFieldsOf(path: string) {
  return [...new URLSearchParams(path.split('?')[1])].map(([name, value]) => ({ name, value }));
}

export function headingOfSearch(q: string): string {
  return t('moderation.ideas.found', { q: shortLine(q, 100, '…') });
}

export function listedIdea(idea: IdeaView, href: string, tagPathOf?: (name: string) => string) {
  return { ...presentIdea(idea, tagPathOf), excerpt: presentExcerpt(idea.body), href };
}

/**
 * Returns the idea number in a search text such as #42. Returns undefined for any other text. Webhooks, chat messages
 * and the audit log name ideas by their numbers.
 */
export function ideaNumberIn(q: string | undefined): number | undefined {
  const [, number] = /^#([1-9]\d{0,14})$/.exec(q ?? '') ?? [];
  return number === undefined ? undefined : Number(number);
}
