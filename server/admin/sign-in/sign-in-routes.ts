import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { endAllSessions, endSession } from '../../domain/sign-in/session.ts';
import { signIn } from '../../domain/sign-in/sign-in.ts';
import { definePage, sendPage } from '../../pages/shell/page.ts';
import { fieldOf, noticeIn } from '../shell/form.ts';
import { clearSessionCookie, requireSession, sessionOf, sessionTerms, setSessionCookie } from '../shell/session.ts';
import { buildKnownBrowsers, buildThrottle, describeWait } from './throttle.ts';

const signInPage = definePage<object>('admin/sign-in/sign-in');

const notices: Record<string, string> = {
  expired: 'You were signed out meanwhile: what you have sent was not done. Sign in, and send it again.',
  password_set: 'Your password is set. Sign in with it.',
  signed_out: 'You are signed out.',
  signed_out_everywhere: 'You are signed out in every browser.',
};

/** One answer for every failure, so that nobody finds out which addresses have an account. */
const refused = 'The e-mail address or the password is not right.';

/** Signing in and out. */
export function serveSignIn(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit } = server;
  const throttle = buildThrottle(server);
  const knownBrowsers = buildKnownBrowsers(server);
  const show = (reply: FastifyReply, data: object, status = 200) =>
    sendPage(reply, signInPage({ title: 'Sign in' }, data), status);

  app.get('/admin/sign-in', async (request, reply) => {
    const next = safeNextPath(fieldOf(request.query, 'next'));
    if (request.browserSession) return reply.redirect(next, 303);
    return show(reply, { email: '', next, notice: noticeIn(request, notices) });
  });

  app.post('/admin/sign-in', { config: { isForVisitors: true } }, async (request, reply) => {
    const [email, password] = [fieldOf(request.body, 'email'), fieldOf(request.body, 'password')];
    const next = safeNextPath(fieldOf(request.body, 'next'));
    const charged = await throttle.chargeSignIn(request, reply, email);
    if ('retrySeconds' in charged) {
      const problem = `There were too many tries. Try again ${describeWait(charged.retrySeconds)}.`;
      return show(reply, { email, next, problem }, 429);
    }
    const terms = sessionTerms(request, config, clock.now());
    const outcome = await signIn(server, { email, password }, terms);
    const client = clientOf(request);
    if ('refused' in outcome) {
      await charged.fail();
      const user = outcome.userId === undefined ? {} : { user_id: outcome.userId };
      audit.record('sign_in.failed', { ...client, reason: outcome.refused, ...user });
      return show(reply, { email, next, problem: refused }, 422);
    }
    await charged.succeed();
    audit.record('sign_in.succeeded', { ...client, user_id: outcome.userId });
    setSessionCookie(reply, config, outcome.token, terms.expiresAt);
    knownBrowsers.remember(request, reply, email);
    return reply.redirect(next, 303);
  });

  app.post('/admin/sign-out', { onRequest: requireSession }, async (request, reply) => {
    const { user, tokenHash } = sessionOf(request);
    const isEnded = await endSession(database, tokenHash);
    if (isEnded) audit.record('sign_out', { ...clientOf(request), user_id: user.id });
    clearSessionCookie(reply, config);
    // An invitation to another address continues after signing out.
    const next = fieldOf(request.body, 'next');
    return reply.redirect(next === '' ? '/admin/sign-in?notice=signed_out' : safeNextPath(next), 303);
  });

  app.post('/admin/sign-out-everywhere', { onRequest: requireSession }, async (request, reply) => {
    const { user } = sessionOf(request);
    const sessions = await endAllSessions(database, user.id);
    audit.record('session.ended_everywhere', { ...clientOf(request), user_id: user.id, sessions });
    clearSessionCookie(reply, config);
    return reply.redirect('/admin/sign-in?notice=signed_out_everywhere', 303);
  });
}

function clientOf({ id, ip }: FastifyRequest) {
  return { request_id: id, ip };
}

const home = '/admin';

/** The page to open after signing in. Only pages of the admin area: a link must not lead to another host. */
function safeNextPath(text: string): string {
  // No address has this base, so another origin means that the text leads elsewhere.
  const base = 'http://admin.invalid';
  const url = URL.parse(text, base);
  if (!url || url.origin !== base || url.username !== '' || url.password !== '') return home;
  const isPage = url.pathname === home || url.pathname.startsWith(`${home}/`);
  return isPage && !url.pathname.startsWith('/admin/sign-in') ? `${url.pathname}${url.search}` : home;
}
