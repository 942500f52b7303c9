import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { word } from '../../../contract/text.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { listModeratedBoards, type ModeratedBoard, maxPendingCount } from '../../domain/boards/list-boards.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type PendingIdea, pagePendingIdeas, pendingSort } from '../../domain/moderation/list-submissions.ts';
import { type Page, placeOf } from '../../domain/pagination.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { type PersonView, readPeople } from '../../domain/users/read-people.ts';
import { definePage, type Link, type NavigationLink, sendPage } from '../../pages/shell/page.ts';
import { readQuery } from '../../pages/shell/query.ts';
import { shortLine, truncate } from '../../text/plain-text.ts';
import { noticeIn } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireModeratedAccount, requireSession } from '../shell/session.ts';
import { type ShownTime, shownName, showTime } from '../shell/show.ts';
import { notices } from './notices.ts';
import { presentPerson, type ShownPerson } from './present-person.ts';
import { ideaPath, wayToQueue } from './way-back.ts';

const QueueQuery = z.object({ board: word(100).optional(), cursor: word(500).optional() });

interface QueueData {
  boards: NavigationLink[];
  ideas: ShownPending[];
  first: Link | undefined;
  next: Link | undefined;
  blocksPath: string;
  rejectedPath: string;
  formToken: string;
  notice: string | undefined;
}

interface ShownPending {
  title: string;
  href: string;
  excerpt: string;
  board: string;
  author: string;
  person: ShownPerson;
  submitted: ShownTime;
  isFrozen: boolean;
  approvePath: string;
  rejectPath: string;
}

const queuePage = definePage<QueueData>('admin/moderation/queue');

/** So many fit a page that is quick on a phone, with what can be judged of each without opening it. */
const ideasPerPage = 10;
const excerptLength = 500;

/** What awaits approval in an account, for those who moderate: who has waited longest stands first. */
export function serveQueue(app: FastifyInstance, server: ServerDependencies) {
  app.get('/admin/queue', { onRequest: [requireSession, nameAccount] }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const query = readQuery(QueueQuery, request.query);
    const place = placeOf(query, pendingSort, ideasPerPage);
    const { boards, page, people } = await administer(server, request, async admin => {
      const listed = await listModeratedBoards(admin, account.id);
      const board = listed.find(({ slug }) => slug === query.board);
      if (query.board !== undefined && !board) throw new DomainError('not_found');
      const pending = await pagePendingIdeas(admin, account.id, board?.id ?? null, place);
      const authors = pending.rows.map(idea => idea.author_id);
      return { boards: listed, page: pending, people: await readPeople(admin, account.id, authors) };
    });
    const link = (parameters: Record<string, string>) => pathIn(request, account, '/admin/queue', parameters);
    const filter: Record<string, string> = query.board === undefined ? {} : { board: query.board };
    const data: QueueData = {
      boards: boards.length > 1 ? presentBoards(boards, query.board, link) : [],
      ideas: presentIdeas(request, account, page, boards, people),
      first: query.cursor === undefined ? undefined : { label: 'Back to the longest waiting', href: link(filter) },
      next:
        page.nextCursor === null
          ? undefined
          : { label: 'More ideas', href: link({ ...filter, cursor: page.nextCursor }) },
      blocksPath: pathIn(request, account, '/admin/blocks'),
      rejectedPath: pathIn(request, account, '/admin/queue/rejected'),
      formToken: formTokenOf(request),
      notice: noticeIn(request, notices),
    };
    return sendPage(reply, queuePage(frameOf(request, account, 'Queue'), data));
  });
}

function presentBoards(
  boards: ModeratedBoard[],
  chosen: string | undefined,
  link: (parameters: Record<string, string>) => string,
): NavigationLink[] {
  return [
    { label: 'All boards', href: link({}), isCurrent: chosen === undefined },
    // One on which nothing waits is left out, unless it is looked at.
    ...boards
      .filter(({ slug, pending_count }) => pending_count > 0 || slug === chosen)
      .map(({ slug, name, pending_count }) => ({
        label: `${shownName(name)} (${pending_count < maxPendingCount ? pending_count : `${maxPendingCount - 1}+`})`,
        href: link({ board: slug }),
        isCurrent: slug === chosen,
      })),
  ];
}

function presentIdeas(
  request: FastifyRequest,
  account: AccountOfUser,
  { rows }: Page<PendingIdea>,
  boards: ModeratedBoard[],
  people: Map<number, PersonView>,
): ShownPending[] {
  const way = wayToQueue(request.query);
  const bySlug = new Map(boards.map(board => [board.slug, board]));
  return rows.map(idea => {
    const board = bySlug.get(idea.board);
    return {
      title: shortLine(idea.title, 200),
      href: pathIn(request, account, ideaPath(idea.id)),
      excerpt: truncate(idea.body, excerptLength),
      board: shownName(board?.name ?? ''),
      author: shownName(idea.author),
      person: presentPerson(request, account, people.get(idea.author_id), way),
      submitted: showTime(new Date(idea.created_at)),
      isFrozen: board?.is_frozen ?? false,
      approvePath: pathIn(request, account, `${ideaPath(idea.id)}/approve`, way),
      rejectPath: pathIn(request, account, `${ideaPath(idea.id)}/reject`, way),
    };
  });
}
