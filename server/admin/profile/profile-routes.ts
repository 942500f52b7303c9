import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { lockUser } from '../../domain/users/find-user.ts';
import { updateUser } from '../../domain/users/update-user.ts';
import { fieldOf, noticeIn, problemOf } from '../shell/form.ts';
import { administer, requireSession, sessionOf } from '../shell/session.ts';
import { ownPath } from './own-pages.ts';
import { showProfile } from './show-profile.ts';

/** What was done on one of the forms of the profile. */
const notices = {
  saved: 'It is saved.',
  email_asked: 'A link is on its way to the new address. You sign in with it once you have opened the link.',
  email_changed: 'From now on you sign in with the new address.',
  mail_asked: 'A link is on its way to the address. Notifications go there once you have opened the link.',
  mail_changed: 'Notifications go to that address from now on.',
  mail_ended: 'Notifications are not mailed to you any more. You find them here.',
  password_changed: 'Your password is changed. In every other browser you are signed out.',
};

/** The profile of whoever is signed in. */
export function serveOwnProfile(app: FastifyInstance, server: ServerDependencies) {
  app.get('/admin/profile', { onRequest: requireSession }, async (request, reply) =>
    showProfile(server, request, reply, { notice: noticeIn(request, notices) }),
  );

  app.post('/admin/profile', { onRequest: requireSession }, async (request, reply) => {
    const name = fieldOf(request.body, 'name');
    try {
      await administer(server, request, async admin =>
        updateUser(admin, await lockUser(admin, sessionOf(request).user.id), { name }),
      );
    } catch (error) {
      const { status, message } = problemOf(error);
      return showProfile(server, request, reply, { problem: { message, form: 'name' }, given: { name } }, status);
    }
    return reply.redirect(ownPath(request, '/admin/profile', { notice: 'saved' }), 303);
  });
}
