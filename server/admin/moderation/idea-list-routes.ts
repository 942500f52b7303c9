import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { StatusKey } from '../../../contract/status.ts';
import { text, word } from '../../../contract/text.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { listModeratedBoards, type ModeratedBoard } from '../../domain/boards/list-boards.ts';
import { type BoardView, readBoard } from '../../domain/boards/read-board.ts';
import { listIdeas } from '../../domain/ideas/list-ideas.ts';
import type { IdeaView } from '../../domain/ideas/read-idea.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { definePage, type Link, type NavigationLink, sendPage } from '../../pages/shell/page.ts';
import { readQuery } from '../../pages/shell/query.ts';
import { shortLine } from '../../text/plain-text.ts';
import { frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireModeratedAccount, requireSession } from '../shell/session.ts';
import { shownName } from '../shell/show.ts';
import { actOnBoard } from './act-on-board.ts';
import { ideaNumberIn, ideasPerPage, type ListedIdea, listedIdea } from './idea-search.ts';
import { ideaPath } from './way-back.ts';

const IdeasQuery = z.object({
  board: word(100).optional(),
  status_key: StatusKey.optional(),
  q: text(0, 100).optional(),
  sort: z.enum(['newest', 'top']).default('newest'),
  cursor: word(500).optional(),
});
type IdeasQuery = z.output<typeof IdeasQuery>;

interface IdeasData {
  /** Undefined where the account has no board. */
  board: ShownBoard | undefined;
  blocksPath: string;
}

interface ShownBoard {
  name: string;
  isFrozen: boolean;
  searchPath: string;
  boards: { slug: string; name: string; isChosen: boolean }[];
  slug: string;
  q: string;
  /** What the search keeps, beside the board. */
  kept: { name: string; value: string }[];
  statuses: NavigationLink[];
  orders: NavigationLink[];
  heading: string;
  isFiltered: boolean;
  everything: Link;
  ideas: ListedIdea[];
  first: Link | undefined;
  next: Link | undefined;
}

const ideasPage = definePage<IdeasData>('admin/moderation/ideas');

/** The ideas of a board, for those who moderate: those in a hidden status, too, where it is asked for. */
export function serveIdeaList(app: FastifyInstance, server: ServerDependencies) {
  app.get('/admin/ideas', { onRequest: [requireSession, nameAccount] }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const query = readQuery(IdeasQuery, request.query);
    const number = ideaNumberIn(query.q);
    if (number !== undefined) return reply.redirect(pathIn(request, account, ideaPath(number)), 303);
    const boards = await administer(server, request, admin => listModeratedBoards(admin, account.id));
    const slug = query.board ?? boards[0]?.slug;
    const board = slug === undefined ? undefined : await showBoard(request, account, boards, { ...query, board: slug });
    const data: IdeasData = { board, blocksPath: pathIn(request, account, '/admin/blocks') };
    return sendPage(reply, ideasPage(frameOf(request, account, 'Ideas'), data));
  });

  function showBoard(
    request: FastifyRequest,
    account: AccountOfUser,
    boards: ModeratedBoard[],
    query: IdeasQuery & { board: string },
  ): Promise<ShownBoard> {
    return actOnBoard(server, request, account, query.board, async op => {
      const board = await readBoard(op);
      // A status of the board that was looked at before this one is as none.
      const statusKey = board.statuses.find(({ key }) => key === query.status_key)?.key;
      const filter = { statusKey, q: query.q, sort: query.sort, isPending: false };
      const page = await listIdeas(op, filter, placeOf(query, query.sort, ideasPerPage));
      return presentBoard(request, account, { board, boards, query: { ...query, status_key: statusKey }, page });
    });
  }
}

interface Listed {
  board: BoardView;
  boards: ModeratedBoard[];
  query: IdeasQuery & { board: string };
  page: Page<IdeaView>;
}

function presentBoard(
  request: FastifyRequest,
  account: AccountOfUser,
  { board, boards, query, page }: Listed,
): ShownBoard {
  const { q, sort, status_key } = query;
  const path = (changes: Partial<IdeasQuery>) =>
    pathIn(request, account, '/admin/ideas', fieldsOf({ ...query, cursor: undefined, ...changes }));
  const hasHidden = board.statuses.some(status => status.is_hidden);
  return {
    name: shownName(board.name),
    isFrozen: board.is_frozen,
    searchPath: '/admin/ideas',
    boards: boards.map(one => ({ slug: one.slug, name: shownName(one.name), isChosen: one.id === board.id })),
    slug: board.slug,
    q: q ?? '',
    kept: [...new URLSearchParams(path({ q: undefined, board: undefined }).split('?')[1])].map(([name, value]) => ({
      name,
      value,
    })),
    statuses: [
      {
        label: hasHidden ? 'All that are shown' : 'All',
        href: path({ status_key: undefined }),
        isCurrent: status_key === undefined,
      },
      ...board.statuses.map(({ key, label, is_hidden }) => ({
        label: `${shortLine(label, 60)}${is_hidden ? ' (hidden)' : ''}`,
        href: path({ status_key: key }),
        isCurrent: status_key === key,
      })),
    ],
    orders: [
      { label: 'Newest', href: path({ sort: 'newest' }), isCurrent: sort === 'newest' },
      { label: 'Top', href: path({ sort: 'top' }), isCurrent: sort === 'top' },
    ],
    heading: q === undefined ? 'Ideas' : `Ideas with “${shortLine(q, 100, '…')}” in the title`,
    isFiltered: q !== undefined || status_key !== undefined,
    everything: { label: 'Show all ideas', href: path({ q: undefined, status_key: undefined }) },
    ideas: page.rows.map(idea => listedIdea(idea, pathIn(request, account, ideaPath(idea.id)))),
    first: query.cursor === undefined ? undefined : { label: 'Back to the first page', href: path({}) },
    next: page.nextCursor === null ? undefined : { label: 'More ideas', href: path({ cursor: page.nextCursor }) },
  };
}

/** What a query says beyond what goes without saying. */
function fieldsOf({ board, status_key, q, sort, cursor }: Partial<IdeasQuery>): Record<string, string> {
  const values = { board, status_key, q, sort: sort === 'newest' ? undefined : sort, cursor };
  return Object.fromEntries(
    Object.entries(values).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}
