import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { changePassword } from '../../domain/sign-in/change-password.ts';
import { fieldOf, problemOf } from '../shell/form.ts';
import { administer, requireSession, sessionOf, sessionTerms, setSessionCookie } from '../shell/session.ts';
import { problemOfNewPassword } from '../sign-in/new-password.ts';
import { askForOwnPassword } from '../sign-in/own-password.ts';
import { ownPath } from './own-pages.ts';
import { showProfile } from './show-profile.ts';

/** Another password, for whoever knows the one that they have. The browser goes on in a new session, and no other one does. */
export function serveOwnPassword(app: FastifyInstance, server: ServerDependencies) {
  const { clock, config, passwords } = server;
  const askForPassword = askForOwnPassword(server);

  app.post('/admin/profile/password', { onRequest: requireSession }, async (request, reply) => {
    const refuse = (status: number, message: string) =>
      showProfile(server, request, reply, { problem: { message, form: 'password' } }, status);
    const password = fieldOf(request.body, 'password');
    const { email } = sessionOf(request).user;
    const problem = await problemOfNewPassword(password, fieldOf(request.body, 'password_again'), email);
    if (problem !== undefined) return refuse(422, problem);
    const asked = await askForPassword(request, reply);
    if ('problem' in asked) return refuse(asked.status, asked.problem);
    const { now, expiresAt } = sessionTerms(request, config, clock.now());
    const credential = await passwords.hash(password);
    try {
      const token = await administer(server, request, admin =>
        changePassword(admin, asked.user, credential, { now, expiresAt }),
      );
      setSessionCookie(reply, config, token, expiresAt);
    } catch (error) {
      const { status, message } = problemOf(error);
      return refuse(status, message);
    }
    return reply.redirect(ownPath(request, '/admin/profile', { notice: 'password_changed' }), 303);
  });
}
