import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError, administrationIn } from '../../domain/administration.ts';
import { passwordLinkMinutes, readPasswordLink, requestPasswordLink } from '../../domain/sign-in/password-links.ts';
import { redeemPasswordLink } from '../../domain/sign-in/set-password.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, problemOf } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { clearSessionCookie } from '../shell/session.ts';
import { passwordLengths, readNewPassword } from './own-password.ts';
import { buildThrottle, describeWait } from './throttle.ts';

const requestPage = definePage<object>('admin/sign-in/password-request');
const newPasswordPage = definePage<object>('admin/sign-in/new-password');

/** Sets a first or a forgotten password by a mailed link. */
export function servePasswords(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit, passwords } = server;
  const throttle = buildThrottle(server);
  const isMailed = config.SMTP_URL !== undefined;

  app.get('/admin/password-link', async (_request, reply) => showRequest(reply, { email: '' }));

  app.post('/admin/password-link', { config: { isForVisitors: true } }, async (request, reply) => {
    const email = fieldOf(request.body, 'email');
    const charged = await throttle.chargePasswordLink(request, reply, email);
    if ('retrySeconds' in charged) {
      const problem = `There were too many requests. Try again ${describeWait(charged.retrySeconds)}.`;
      return showRequest(reply, { email, problem }, 429);
    }
    const userId = await requestPasswordLink(database, email);
    const user = userId === undefined ? {} : { user_id: userId };
    audit.record('password.reset_requested', { request_id: request.id, ip: request.ip, ...user });
    return showRequest(reply, { email, isSent: true });
  });

  app.get('/admin/password', async (request, reply) => {
    const token = fieldOf(request.query, 'token');
    const { email } = await requireLink(token);
    return showNewPassword(reply, { email, token });
  });

  app.post('/admin/password', { config: { isForVisitors: true } }, async (request, reply) => {
    const token = fieldOf(request.body, 'token');
    const { email, userId, hash } = await requireLink(token);
    let password: string;
    try {
      password = await readNewPassword(request.body, email);
    } catch (error) {
      const { status, message: problem } = problemOf(error);
      return showNewPassword(reply, { email, token, problem }, status);
    }
    const credential = await passwords.hash(password);
    await database
      .transaction(transaction => {
        const actor = { by: 'user', by_user_id: userId } as const;
        const admin = administrationIn(transaction, { audit, actor, now: clock.now() });
        return redeemPasswordLink(admin, hash, credential);
      })
      .catch(error => {
        // Another request was faster with the same link.
        throw error instanceof AdministrationError ? linkIsOver() : error;
      });
    clearSessionCookie(reply, config);
    return reply.redirect('/admin/sign-in?notice=password_set', 303);
  });

  async function requireLink(token: string) {
    const link = await readPasswordLink(database, token, clock.now());
    if (!link) throw linkIsOver();
    return link;
  }

  function showRequest(reply: FastifyReply, data: { email: string; isSent?: boolean; problem?: string }, status = 200) {
    const page = requestPage({ title: 'Set a password' }, { isMailed, minutes: passwordLinkMinutes, ...data });
    return sendPage(reply, page, status);
  }
}

function showNewPassword(reply: FastifyReply, data: { email: string; token: string; problem?: string }, status = 200) {
  return sendPage(reply, newPasswordPage({ title: 'Choose a password' }, { ...passwordLengths, ...data }), status);
}

function linkIsOver() {
  return new Refusal(
    404,
    'This link does not work any more',
    `A link sets a password once, and within ${passwordLinkMinutes} minutes.`,
    { label: 'Ask for a new one', href: '/admin/password-link' },
  );
}
