import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { endAllSessions, endSession } from '../../domain/sign-in/session.ts';
import { signIn } from '../../domain/sign-in/sign-in.ts';
import { FormProblem, ownProblemOf, type Problem } from '../../pages/shell/form.ts';
import {
  accountAround,
  clearSessionCookie,
  requireSession,
  sessionOf,
  sessionTerms,
  setSessionCookie,
} from '../../pages/shell/session.ts';
import { serveRoutes, type Visit } from '../../pages/shell/visit.ts';
import { servePasswords } from './password-routes.ts';
import { buildKnownBrowsers, buildThrottle } from './throttle.ts';

const notices = {
  expired: 'You were signed out, so your form was not processed. Sign in and send it again.',
  password_set: 'Your password is set. Sign in with it.',
  signed_out: 'You are signed out.',
  signed_out_everywhere: 'You are signed out in every browser.',
};

export function serveSignIn(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit } = server;
  const throttle = buildThrottle(server);
  const knownBrowsers = buildKnownBrowsers(server);

  const forVisitors = { path: '/admin/sign-in', show: showSignIn, run: startSession, problemOf: ownProblemOf };
  serveRoutes(app, server, () => undefined, [forVisitors], []);
  const forUsers = [
    { path: '/admin/sign-out', run: signOut },
    { path: '/admin/sign-out-everywhere', run: signOutEverywhere },
  ];
  serveRoutes(app, server, accountAround, forUsers, [requireSession]);
  servePasswords(app, server);

  async function startSession(visit: Visit<undefined>) {
    const { request, reply } = visit;
    const email = visit.field('email');
    const charged = await throttle.chargeSignIn(request, reply, email);
    const terms = sessionTerms(request, config, clock.now());
    const outcome = await signIn(server, { email, password: visit.field('password') }, terms);
    const client = clientOf(request);
    if ('refused' in outcome) {
      await charged.fail();
      const user = outcome.userId === undefined ? {} : { user_id: outcome.userId };
      audit.record('sign_in.failed', { ...client, reason: outcome.refused, ...user });
      // An unknown address and a wrong password get the same answer, to hide which e-mail addresses have a user.
      throw new FormProblem(422, 'The e-mail address or the password is wrong');
    }
    await charged.succeed();
    audit.record('sign_in.succeeded', { ...client, user_id: outcome.userId });
    setSessionCookie(reply, config, outcome.token, terms.expiresAt);
    knownBrowsers.remember(request, reply, email);
    return safeNextPath(visit.field('next'));
  }

  async function signOut(visit: Visit<AccountOfUser | undefined>) {
    const { user, tokenHash } = sessionOf(visit.request);
    const isEnded = await endSession(database, tokenHash);
    if (isEnded) audit.record('sign_out', { ...clientOf(visit.request), user_id: user.id });
    clearSessionCookie(visit.reply, config);
    // `next` leads back to an invitation for another e-mail address, which the visitor can accept after the sign-out.
    const next = visit.field('next');
    return next === '' ? '/admin/sign-in?notice=signed_out' : safeNextPath(next);
  }

  async function signOutEverywhere({ user, request, reply }: Visit<AccountOfUser | undefined>) {
    const sessions = await endAllSessions(database, user.id);
    audit.record('session.ended_everywhere', { ...clientOf(request), user_id: user.id, sessions });
    clearSessionCookie(reply, config);
    return '/admin/sign-in?notice=signed_out_everywhere';
  }
}

function showSignIn(visit: Visit<undefined>, problem?: Problem) {
  const next = safeNextPath(problem ? visit.field('next') : visit.parameter('next'));
  if (!problem && visit.request.browserSession) return next;
  return visit.page('sign-in/sign-in', 'Sign in', { email: visit.field('email'), next }, { notices, problem });
}

function clientOf({ id, ip }: FastifyRequest) {
  return { request_id: id, ip };
}

const home = '/admin';

/**
 * Returns the path of the page that opens after sign-in. It is always in the admin area, in the operator's panel or on a
 * board, so that a link cannot lead to another host.
 */
function safeNextPath(text: string): string {
  // No real server has this origin. If the parsed text has another origin, it leads to another host.
  const base = 'http://admin.invalid';
  const url = URL.parse(text, base);
  if (!url || url.origin !== base || url.username !== '' || url.password !== '') return home;
  const isPage = /^\/(admin|operator)$|^\/(admin|operator|b)\//.test(url.pathname);
  return isPage && !url.pathname.startsWith('/admin/sign-in') ? `${url.pathname}${url.search}` : home;
}
