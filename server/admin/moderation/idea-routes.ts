import { CommentText } from '../../../contract/comments.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readRejectedIdea } from '../../domain/moderation/list-submissions.ts';
import { followIdea, unfollowIdea } from '../../domain/notifications/followers.ts';
import { setIdeaStatus } from '../../domain/statuses/set-idea-status.ts';
import { addIdeaTag, removeIdeaTag } from '../../domain/tags/tag-idea.ts';
import { type PersonOperation, problemOfAction } from '../../pages/shell/act.ts';
import { FormProblem, idFieldOf } from '../../pages/shell/form.ts';
import { shownName, showTime } from '../../pages/shell/show.ts';
import type { Route, Visit } from '../../pages/shell/visit.ts';
import { t } from '../../text/catalogue.ts';
import { linkedText } from '../../text/linked-text.ts';
import { shortLine } from '../../text/plain-text.ts';
import { actOnIdea, changeIdea } from './act-on-board.ts';
import { showIdea } from './idea-page.ts';
import { presentNotes } from './present-notes.ts';
import { ideaPath, type Notice, notices, wayBack } from './way-back.ts';

/** The page of an idea, with forms that set the idea's status and tags, and follow or unfollow the idea. */
export const ideaRoutes: Route[] = [
  { path: '/admin/ideas/:id', show: async visit => (await showRejected(visit)) ?? showIdea(visit) },
  changeRoute('status', async (op, id, visit) => {
    const reply = visit.field('reply').trim();
    await setIdeaStatus(op, id, visit.field('status'), reply === '' ? undefined : readReply(reply));
    return 'status_set';
  }),
  changeRoute('tags', async (op, id, { request }) => {
    const tagId = idFieldOf(request.body, 'tag_id');
    if (tagId === undefined) throw new DomainError('invalid_tag');
    await addIdeaTag(op, id, tagId);
    return 'tag_added';
  }),
  changeRoute('tags/:tagId/remove', async (op, id, visit) => {
    await removeIdeaTag(op, id, visit.id('tagId'));
    return 'tag_removed';
  }),
  changeRoute('follow', async (op, ideaId, visit) => {
    const { accountId, userId } = op.actor;
    if (visit.field('follow') === 'no') {
      await unfollowIdea(op, { ideaId, userId });
      return 'unfollowed';
    }
    await followIdea(op, accountId, { ideaId, userId });
    return 'followed';
  }),
];

function readReply(text: string): string {
  const reply = CommentText.safeParse(text);
  if (!reply.success) throw new FormProblem(422, t('boards.official_reply.invalid'));
  return reply.data;
}

/** Defines the route of a form on the idea's page. If the server refuses the change, the page shows the reason. */
function changeRoute(form: string, work: (op: PersonOperation, id: number, visit: Visit) => Promise<Notice>): Route {
  return {
    path: `/admin/ideas/:id/${form}`,
    run: async visit => {
      const id = visit.id();
      const notice = await changeIdea(visit, id, op => work(op, id, visit));
      return wayBack(visit, ideaPath(id), { notice });
    },
    again: showIdea,
    problemOf: problemOfAction,
  };
}

/** Returns the page of a rejected idea, or undefined for any other idea. */
async function showRejected(visit: Visit) {
  const id = visit.id();
  const idea = await visit.administer(admin => readRejectedIdea(admin, visit.account.id, id));
  if (!idea) return undefined;
  const title = shortLine(idea.title, 200);
  const data = {
    title,
    body: linkedText(idea.body),
    reason: idea.reason,
    board: { label: shownName(idea.board_name), href: visit.path('/admin/ideas', { board: idea.board_slug }) },
    author: shownName(idea.author_name),
    submitted: showTime(new Date(idea.created_at)),
    rejected: showTime(new Date(idea.rejected_at)),
    notes: await actOnIdea(visit, id, op => presentNotes(visit, op, id)),
  };
  return visit.page('moderation/rejected', title, data, { notices });
}
