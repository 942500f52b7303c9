import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { readIdea } from '../../domain/ideas/read-idea.ts';
import { approveIdea, rejectIdea } from '../../domain/moderation/moderate-idea.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { definePage, type Link, sendPage } from '../../pages/shell/page.ts';
import { shortLine } from '../../text/plain-text.ts';
import { fieldOf, idIn, problemOf } from '../shell/form.ts';
import { formTokenOf, frameOf } from '../shell/frame.ts';
import { Refusal } from '../shell/refusal.ts';
import { nameAccount, pathIn, requireModeratedAccount, requireSession } from '../shell/session.ts';
import { shownName } from '../shell/show.ts';
import { actOnIdea, changeIdea } from './act-on-board.ts';
import type { Notice } from './notices.ts';
import { ideaPath, wayBack, wayOf } from './way-back.ts';

interface RejectData {
  title: string;
  author: string;
  body: string;
  action: string;
  back: Link;
  reason: string;
  formToken: string;
  problem: string | undefined;
}

const rejectPage = definePage<RejectData>('admin/moderation/reject');

/** Approves and rejects what awaits approval, from the queue and from the page of the idea. */
export function serveApproval(app: FastifyInstance, server: ServerDependencies) {
  const onRequest = [requireSession, nameAccount];

  app.post('/admin/ideas/:id/approve', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const id = idIn(request);
    const isApproved = await changeIdea(server, request, account, id, op => approveIdea(op, account.id, id));
    return leadBack(request, reply, account, isApproved ? 'approved' : 'approved_already');
  });

  app.get('/admin/ideas/:id/reject', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    return showForm(request, reply, account);
  });

  app.post('/admin/ideas/:id/reject', { onRequest }, async (request, reply) => {
    const account = requireModeratedAccount(request);
    const id = idIn(request);
    const reason = fieldOf(request.body, 'reason');
    try {
      const isRejected = await changeIdea(server, request, account, id, op => rejectIdea(op, account.id, id, reason));
      return leadBack(request, reply, account, isRejected ? 'rejected' : 'rejected_already');
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showForm(request, reply.status(status), account, { reason, problem });
    }
  });

  async function showForm(
    request: FastifyRequest,
    reply: FastifyReply,
    account: AccountOfUser,
    { reason = '', problem }: { reason?: string; problem?: string } = {},
  ) {
    const id = idIn(request);
    const idea = await actOnIdea(server, request, account, id, op => readIdea(op, id));
    if (idea?.moderation_state !== 'pending') {
      throw new Refusal(409, 'It awaits approval no more', 'Somebody else may have approved or rejected it.', {
        label: 'Back',
        href: wayBack(request, account, '/admin/queue'),
      });
    }
    const title = shortLine(idea.title, 200);
    const data: RejectData = {
      title,
      author: shownName(idea.author_name),
      body: idea.body,
      action: pathIn(request, account, `${ideaPath(idea.id)}/reject`, wayOf(request)),
      back: { label: 'Do not reject it', href: wayBack(request, account, ideaPath(idea.id)) },
      reason,
      formToken: formTokenOf(request),
      problem,
    };
    return sendPage(reply, rejectPage(frameOf(request, account, 'Reject an idea'), data));
  }
}

function leadBack(request: FastifyRequest, reply: FastifyReply, account: AccountOfUser, notice: Notice) {
  return reply.redirect(wayBack(request, account, ideaPath(idIn(request)), { notice }), 303);
}
