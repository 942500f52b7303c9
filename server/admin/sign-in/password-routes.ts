import type { FastifyInstance, FastifyReply } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError, administrationIn } from '../../domain/administration.ts';
import { passwordLinkMinutes, readPasswordLink, requestPasswordLink } from '../../domain/sign-in/password-links.ts';
import { redeemPasswordLink } from '../../domain/sign-in/set-password.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { clearSessionCookie } from '../shell/session.ts';
import { passwordLengths, problemOfNewPassword } from './new-password.ts';
import { buildThrottle, describeWait } from './throttle.ts';

interface RequestData {
  email: string;
  isMailed: boolean;
  isSent?: boolean;
  minutes: number;
  problem?: string | undefined;
}

interface NewPasswordData {
  email: string;
  token: string;
  minLength: number;
  maxLength: number;
  problem?: string | undefined;
}

const requestPage = definePage<RequestData>('admin/sign-in/password-request');
const newPasswordPage = definePage<NewPasswordData>('admin/sign-in/new-password');

/** Setting a password by a link: the first one, or another when it is forgotten. */
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
    const link = await requireLink(token);
    const password = fieldOf(request.body, 'password');
    const problem = await problemOfNewPassword(password, fieldOf(request.body, 'password_again'), link.email);
    if (problem !== undefined) return showNewPassword(reply, { email: link.email, token, problem }, 422);
    const credential = await passwords.hash(password);
    await database
      .transaction(transaction => {
        const actor = { by: 'user', by_user_id: link.userId } as const;
        const admin = administrationIn(transaction, { audit, actor, now: clock.now() });
        return redeemPasswordLink(admin, link.hash, credential);
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

  function showRequest(reply: FastifyReply, data: Pick<RequestData, 'email' | 'isSent' | 'problem'>, status = 200) {
    const page = requestPage({ title: 'Set a password' }, { isMailed, minutes: passwordLinkMinutes, ...data });
    return sendPage(reply, page, status);
  }
}

function showNewPassword(
  reply: FastifyReply,
  data: Pick<NewPasswordData, 'email' | 'token' | 'problem'>,
  status = 200,
) {
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
