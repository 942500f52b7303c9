import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { type AccountOfUser, endAllSessions, endSession } from '../../domain/sign-in/session.ts';
import { signIn } from '../../domain/sign-in/sign-in.ts';
import { clientOf } from '../../http/audit-refusals.ts';
import { t } from '../../text/catalogue.ts';
import { FormProblem, ownProblemOf, type Problem } from '../shell/form.ts';
import {
  accountAround,
  clearSessionCookie,
  requireOwnSession,
  requireSession,
  sessionOf,
  sessionTerms,
  setSessionCookie,
} from '../shell/session.ts';
import { serveRoutes, type Visit } from '../shell/visit.ts';
import { askForCode } from './code-routes.ts';
import { describeBlock } from './describe-block.ts';
import { safeNextPath } from './next-path.ts';
import { buildRobotCheck } from './robot-check.ts';
import { showSignIn } from './sign-in-page.ts';
import { buildKnownBrowsers, buildThrottle } from './throttle.ts';

/** Serves the sign-in with a password, and the sign-out. */
export function serveSessions(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit } = server;
  const throttle = buildThrottle(server);
  const knownBrowsers = buildKnownBrowsers(server);
  const robotCheck = buildRobotCheck(server);

  const show = (visit: Visit<undefined>, problem?: Problem) => showSignIn(visit, robotCheck, { problem });
  serveRoutes(
    app,
    server,
    () => undefined,
    [{ path: '/sign-in', show, run: startSession, problemOf: ownProblemOf }],
    [],
  );
  serveRoutes(app, server, accountAround, [{ path: '/admin/sign-out', run: signOut }], [requireSession]);
  const forOwnSessions = [{ path: '/admin/sign-out-everywhere', run: signOutEverywhere }];
  serveRoutes(app, server, accountAround, forOwnSessions, [requireSession, requireOwnSession]);

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
      if (outcome.refused === 'blocked' && outcome.blockedIn.length > 0) {
        throw new FormProblem(403, describeBlock(outcome.blockedIn));
      }
      // An unknown address and a wrong password get the same answer, to hide which e-mail addresses have a user.
      throw new FormProblem(422, t('sign_in.sign_in.wrong'));
    }
    await charged.succeed();
    const next = safeNextPath(visit.field('next'));
    if ('challenge' in outcome) {
      audit.record('sign_in.code_requested', { ...client, user_id: outcome.userId });
      return askForCode(reply, config, outcome.challenge, next);
    }
    audit.record('sign_in.succeeded', { ...client, user_id: outcome.userId, method: 'password' });
    setSessionCookie(reply, config, outcome.token, terms.expiresAt);
    await knownBrowsers.remember(request, reply, email);
    return next;
  }

  async function signOut(visit: Visit<AccountOfUser | undefined>) {
    const { user, tokenHash } = sessionOf(visit.request);
    const isEnded = await endSession(database, tokenHash);
    if (isEnded) audit.record('sign_out', { ...clientOf(visit.request), user_id: user.id });
    clearSessionCookie(visit.reply, config);
    // After the sign-out, the browser goes to the path in `next`. This can be the page of an invitation for another
    // e-mail address, which the visitor can then accept.
    const next = visit.field('next');
    return next === '' ? '/sign-in?notice=signed_out' : safeNextPath(next);
  }

  async function signOutEverywhere({ user, request, reply }: Visit<AccountOfUser | undefined>) {
    const sessions = await endAllSessions(database, user.id);
    audit.record('session.ended_everywhere', { ...clientOf(request), user_id: user.id, sessions });
    clearSessionCookie(reply, config);
    return '/sign-in?notice=signed_out_everywhere';
  }
}
