import { listModeratedBoards, type ModeratedBoard, maxPendingCount } from '../../domain/boards/list-boards.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import {
  type PendingIdea,
  pagePendingIdeas,
  pageRejectedIdeas,
  pendingSort,
  rejectedSort,
} from '../../domain/moderation/list-submissions.ts';
import { approveIdea, rejectIdea } from '../../domain/moderation/moderate-idea.ts';
import { type PersonView, readPeople } from '../../domain/users/read-people.ts';
import type { Problem } from '../../pages/shell/form.ts';
import { Refusal } from '../../pages/shell/refusal.ts';
import { shownName, showTime } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine, truncate } from '../../text/plain-text.ts';
import { actOnIdea, changeIdea } from './act-on-board.ts';
import { blockRoutes } from './block-routes.ts';
import { exportRoute } from './export-route.ts';
import { ideaListRoute } from './idea-list-routes.ts';
import { ideaRoutes } from './idea-routes.ts';
import { mergeRoutes } from './merge-routes.ts';
import { noteRoutes } from './note-routes.ts';
import { voteRoutes } from './vote-routes.ts';
import { ideaPath, notices, presentPerson, wayBack, wayOf, wayToQueue } from './way-back.ts';

/**
 * The number of ideas on a page, so that the page loads quickly on a phone. The page shows the beginning of each idea's
 * text, which is enough to judge most ideas.
 */
const ideasPerPage = 10;
const excerptLength = 500;
const rejectedPerPage = 25;
const maxReasonLength = 200;

export const moderationRoutes: Route[] = [
  { path: '/admin/queue', show: showQueue },
  { path: '/admin/queue/rejected', show: showRejected },
  {
    path: '/admin/ideas/:id/approve',
    run: async visit => {
      const id = visit.id();
      const isApproved = await changeIdea(visit, id, op => approveIdea(op, visit.account.id, id));
      return wayBack(visit, ideaPath(id), { notice: isApproved ? 'approved' : 'approved_already' });
    },
  },
  {
    path: '/admin/ideas/:id/reject',
    show: showRejection,
    run: async visit => {
      const id = visit.id();
      const reason = visit.field('reason');
      const isRejected = await changeIdea(visit, id, op => rejectIdea(op, visit.account.id, id, reason));
      const notice = isRejected ? 'rejected' : 'rejected_already';
      return wayBack(visit, ideaPath(id), { notice }, { isGone: true });
    },
  },
  ideaListRoute,
  exportRoute,
  ...ideaRoutes,
  ...voteRoutes,
  ...noteRoutes,
  ...mergeRoutes,
  ...blockRoutes,
];

async function showQueue(visit: Visit) {
  const slug = visit.parameter('board');
  const place = visit.place(pendingSort, ideasPerPage);
  const { boards, page, people } = await visit.administer(async admin => {
    const listed = await listModeratedBoards(admin, visit.account.id);
    const board = listed.find(one => one.slug === slug);
    if (slug !== '' && !board) throw new DomainError('not_found');
    const pending = await pagePendingIdeas(admin, visit.account.id, board?.id ?? null, place);
    const authors = pending.rows.map(idea => idea.author_id);
    return { boards: listed, page: pending, people: await readPeople(admin, visit.account.id, authors) };
  });
  const data = {
    boards: boards.length > 1 ? presentBoards(visit, boards, slug) : [],
    ideas: presentPending(visit, page.rows, boards, people),
    ...visit.pageLinks('/admin/queue', 'cursor', page.nextCursor, {
      kept: slug === '' ? undefined : { board: slug },
    }),
  };
  return visit.page('moderation/queue', t('shell.admin.queue'), data, { notices });
}

/** Leaves out boards without pending ideas, except the selected board. */
function presentBoards(visit: Visit, boards: ModeratedBoard[], chosen: string) {
  return [
    { label: t('home.boards.all'), href: visit.path('/admin/queue'), isCurrent: chosen === '' },
    ...boards
      .filter(({ slug, pending_count }) => pending_count > 0 || slug === chosen)
      .map(({ slug, name, pending_count }) => ({
        label: `${shownName(name)} (${pending_count < maxPendingCount ? pending_count : `${maxPendingCount - 1}+`})`,
        href: visit.path('/admin/queue', { board: slug }),
        isCurrent: slug === chosen,
      })),
  ];
}

function presentPending(visit: Visit, ideas: PendingIdea[], boards: ModeratedBoard[], people: Map<number, PersonView>) {
  const way = wayToQueue(visit);
  const bySlug = new Map(boards.map(board => [board.slug, board]));
  return ideas.map(idea => {
    const board = bySlug.get(idea.board);
    return {
      title: shortLine(idea.title, 200),
      href: visit.path(ideaPath(idea.id)),
      excerpt: truncate(idea.body, excerptLength),
      board: shownName(board?.name ?? ''),
      author: shownName(idea.author),
      person: presentPerson(visit, people.get(idea.author_id), way),
      submitted: showTime(new Date(idea.created_at)),
      isFrozen: board?.is_frozen ?? false,
      approvePath: visit.path(`${ideaPath(idea.id)}/approve`, way),
      rejectPath: visit.path(`${ideaPath(idea.id)}/reject`, way),
    };
  });
}

async function showRejected(visit: Visit) {
  const place = visit.place(rejectedSort, rejectedPerPage);
  const { rows, nextCursor } = await visit.administer(admin => pageRejectedIdeas(admin, visit.account.id, place));
  return visit.page('moderation/rejected-list', t('moderation.rejected_list.title'), {
    ideas: rows.map(idea => ({
      title: shortLine(idea.title, 200),
      href: visit.path(ideaPath(idea.id)),
      reason: shortLine(idea.reason, maxReasonLength, ''),
      board: shownName(idea.board_name),
      author: shownName(idea.author_name),
      rejected: showTime(new Date(idea.rejected_at)),
    })),
    ...visit.pageLinks('/admin/queue/rejected', 'cursor', nextCursor),
  });
}

async function showRejection(visit: Visit, problem?: Problem) {
  const id = visit.id();
  const idea = await actOnIdea(visit, id, op => readIdea(op, id));
  if (idea?.moderation_state !== 'pending') {
    const back = { label: t('shell.labels.back'), href: wayBack(visit, '/admin/queue', {}, { isGone: !idea }) };
    const explanation = t('moderation.reject_idea.not_pending_explanation');
    throw new Refusal(409, t('moderation.reject_idea.not_pending'), explanation, back);
  }
  const data = {
    title: shortLine(idea.title, 200),
    author: shownName(idea.author_name),
    body: linkedText(idea.body),
    action: visit.path(`${ideaPath(id)}/reject`, wayOf(visit)),
    back: { label: t('shell.labels.cancel'), href: wayBack(visit, ideaPath(id)) },
    reason: visit.field('reason'),
  };
  return visit.page('moderation/reject', t('moderation.reject_idea.title'), data, { problem });
}
