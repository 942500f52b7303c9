import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { StatusKey } from '../../../contract/status.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { type RejectedIdea, readRejectedIdea } from '../../domain/moderation/list-submissions.ts';
import { followIdea, unfollowIdea } from '../../domain/notifications/follow-idea.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { setIdeaStatus } from '../../domain/statuses/set-idea-status.ts';
import { addIdeaTag, removeIdeaTag } from '../../domain/tags/tag-idea.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { shortLine } from '../../text/plain-text.ts';
import { fieldOf, idFieldOf, idIn, noticeIn } from '../shell/form.ts';
import { frameOf } from '../shell/frame.ts';
import { administer, nameAccount, pathIn, requireModeratedAccount, requireSession } from '../shell/session.ts';
import { type ShownTime, shownName, showTime } from '../shell/show.ts';
import { actOnIdea, changeIdea, type Moderation } from './act-on-board.ts';
import { problemOfAction } from './action-problem.ts';
import { showIdea } from './idea-page.ts';
import { type Notice, notices } from './notices.ts';
import { ideaPath } from './way-back.ts';

interface RejectedData {
  title: string;
  body: string;
  reason: string;
  board: Link;
  author: string;
  submitted: ShownTime;
  rejected: ShownTime;
  notice: string | undefined;
}

const rejectedPage = definePage<RejectedData>('admin/moderation/rejected');

/** An idea, and the forms that set its status, its tags and whether the reader follows it. */
export function serveIdeas(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  app.get('/admin/ideas/:id', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const id = idIn(request);
    const notice = noticeIn(request, notices);
    const rejected = await administer(server, request, admin => readRejectedIdea(admin, account.id, id));
    if (rejected) return sendPage(reply, showRejected(request, account, rejected, notice));
    return sendPage(
      reply,
      await actOnIdea(server, request, account, id, op => showIdea(request, account, op, id, { notice })),
    );
  });

  app.post('/admin/ideas/:id/status', { onRequest }, (request, reply) =>
    change(request, reply, async (op, id) => {
      const key = StatusKey.safeParse(fieldOf(request.body, 'status'));
      if (!key.success) throw new DomainError('invalid_status');
      await setIdeaStatus(op, id, key.data);
      return 'status_set';
    }),
  );

  app.post('/admin/ideas/:id/tags', { onRequest }, (request, reply) =>
    change(request, reply, async (op, id) => {
      const tagId = idFieldOf(request.body, 'tag_id');
      if (tagId === undefined) throw new DomainError('invalid_tag');
      await addIdeaTag(op, id, tagId);
      return 'tag_added';
    }),
  );

  app.post('/admin/ideas/:id/tags/:tagId/remove', { onRequest }, (request, reply) =>
    change(request, reply, async (op, id) => {
      await removeIdeaTag(op, id, idIn(request, 'tagId'));
      return 'tag_removed';
    }),
  );

  app.post('/admin/ideas/:id/follow', { onRequest }, (request, reply) =>
    change(request, reply, async (op, ideaId) => {
      const { accountId, userId } = op.actor;
      if (fieldOf(request.body, 'follow') === 'no') {
        await unfollowIdea(op, { ideaId, userId });
        return 'unfollowed';
      }
      await followIdea(op, accountId, { ideaId, userId });
      return 'followed';
    }),
  );

  /** Does something to the idea and shows it anew, or shows above its forms why it could not be done. */
  async function change(
    request: FastifyRequest,
    reply: FastifyReply,
    work: (op: Moderation, ideaId: number) => Promise<Notice>,
  ) {
    const account = requireModeratedAccount(request);
    const id = idIn(request);
    try {
      const notice = await changeIdea(server, request, account, id, op => work(op, id));
      return reply.redirect(pathIn(request, account, ideaPath(id), { notice }), 303);
    } catch (error) {
      const { status, message: problem } = problemOfAction(error);
      const page = await actOnIdea(server, request, account, id, op => showIdea(request, account, op, id, { problem }));
      return sendPage(reply, page, status);
    }
  }
}

function showRejected(request: FastifyRequest, account: AccountOfUser, idea: RejectedIdea, notice: string | undefined) {
  const title = shortLine(idea.title, 200);
  return rejectedPage(frameOf(request, account, title), {
    title,
    body: idea.body,
    reason: idea.reason,
    board: {
      label: shownName(idea.board_name),
      href: pathIn(request, account, '/admin/ideas', { board: idea.board_slug }),
    },
    author: shownName(idea.author_name),
    submitted: showTime(new Date(idea.created_at)),
    rejected: showTime(new Date(idea.rejected_at)),
    notice,
  });
}
