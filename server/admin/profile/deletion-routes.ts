import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { findHolds } from '../../domain/erasure/find-holds.ts';
import { cancelUserDeletion, requestUserDeletion } from '../../domain/erasure/request-user-deletion.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { formTokenOf } from '../shell/frame.ts';
import { administer, requireSession, sessionOf } from '../shell/session.ts';
import { type ShownTime, shownAddress, userErasedFrom } from '../shell/show.ts';
import { askForOwnPassword } from '../sign-in/own-password.ts';
import { ownFrame, ownPath } from './own-pages.ts';

interface QuestionData {
  email: string;
  graceHours: number;
  erasedFrom: ShownTime | undefined;
  /** What keeps them from being erased, in words that go on from 'you are'. */
  holds: string[];
  action: string;
  profilePath: string;
  problem?: string | undefined;
  formToken: string;
}

const questionPage = definePage<QuestionData>('admin/profile/delete');

/** The deletion of whoever is signed in: asked for after a question, and called off as long as the grace runs. */
export function serveOwnDeletion(app: FastifyInstance, server: ServerDependencies) {
  const { clock, config } = server;
  const askForPassword = askForOwnPassword(server);

  app.get('/admin/profile/delete', { onRequest: requireSession }, async (request, reply) => {
    // Asked for already: the profile says until when it can be called off.
    if (sessionOf(request).user.deletion_requested_at !== null) {
      return reply.redirect(ownPath(request, '/admin/profile'), 303);
    }
    return showQuestion(request, reply);
  });

  app.post('/admin/profile/delete', { onRequest: requireSession }, async (request, reply) => {
    const asked = await askForPassword(request, reply);
    if ('problem' in asked) return showQuestion(request, reply, asked.problem, asked.status);
    await administer(server, request, admin => requestUserDeletion(admin, sessionOf(request).user.id));
    return reply.redirect(ownPath(request, '/admin/profile'), 303);
  });

  app.post('/admin/cancel-deletion', { onRequest: requireSession }, async (request, reply) => {
    await administer(server, request, admin => cancelUserDeletion(admin, sessionOf(request).user.id));
    return reply.redirect('/admin?notice=kept', 303);
  });

  async function showQuestion(request: FastifyRequest, reply: FastifyReply, problem?: string, status = 200) {
    const { user } = sessionOf(request);
    const data: QuestionData = {
      email: shownAddress(user.email),
      graceHours: config.USER_DELETION_GRACE_HOURS,
      erasedFrom: userErasedFrom(clock.now().toISOString(), config),
      holds: await administer(server, request, admin => findHolds(admin, user.id)),
      action: ownPath(request, '/admin/profile/delete'),
      profilePath: ownPath(request, '/admin/profile'),
      problem,
      formToken: formTokenOf(request),
    };
    return sendPage(reply, questionPage(ownFrame(request, 'Your deletion'), data), status);
  }
}
