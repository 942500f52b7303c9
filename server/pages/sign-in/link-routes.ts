import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { type Administration, AdministrationError, administrationIn } from '../../domain/administration.ts';
import { checkEmail } from '../../domain/fields.ts';
import { redeemSignInLink } from '../../domain/sign-in/redeem-sign-in-link.ts';
import {
  type FollowedLink,
  readBlockOfLink,
  readSignInLink,
  requestSignInLink,
  signInLinkMinutes,
} from '../../domain/sign-in/sign-in-links.ts';
import { isAddressTaken } from '../../domain/users/edit-user.ts';
import { t } from '../../text/catalogue.ts';
import { FormProblem, type Problem } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { keepLanguageOfBrowser, sessionTerms, setSessionCookie } from '../shell/session.ts';
import { shownAddress, shownName } from '../shell/show.ts';
import { serveRoutes, type Visit } from '../shell/visit.ts';
import { askForCode } from './code-routes.ts';
import { describeBlock } from './describe-block.ts';
import { boardIn, safeNextPath } from './next-path.ts';
import { buildRobotCheck } from './robot-check.ts';
import { showSignIn } from './sign-in-page.ts';
import { buildKnownBrowsers, buildThrottle } from './throttle.ts';

/**
 * Serves the form that asks for a sign-in link by mail, and the page that the link opens. On that page, a person signs
 * in or signs up.
 */
export function serveLinks(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit } = server;
  const throttle = buildThrottle(server);
  const knownBrowsers = buildKnownBrowsers(server);
  const robotCheck = buildRobotCheck(server);

  const routes = [
    // A browser may open this path with GET, for example from the history, although the path is only for a form.
    { path: '/sign-in/mail-link', show: () => '/sign-in', run: requestLink, again: showRefusedRequest },
    { path: '/sign-in/link', show: showLink, run: followLink },
  ];
  serveRoutes(app, server, () => undefined, routes, []);

  /**
   * Gives the same answer for every valid e-mail address. If a bot has sent the form, the server gives this answer too,
   * but sends no mail.
   */
  async function requestLink(visit: Visit<undefined>) {
    const { request, reply } = visit;
    if (config.SMTP_URL === undefined) throw new FormProblem(422, t('sign_in.link.no_mail'));
    const email = checkEmail(visit.field('email'));
    await throttle.chargeSignInLink(request, reply, email);
    if (!robotCheck.isRobot(request.body)) {
      const next = safeNextPath(visit.field('next'));
      const userId = await requestSignInLink(database, { email, next, board: boardIn(next) });
      const user = userId === undefined ? {} : { user_id: userId };
      audit.record('sign_in.link_requested', { request_id: request.id, ip: request.ip, ...user });
    }
    return showSignIn(visit, robotCheck, { isLinkRequested: true });
  }

  function showRefusedRequest(visit: Visit<undefined>, problem: Problem) {
    return showSignIn(visit, robotCheck, { problem });
  }

  /**
   * Only shows a page with a button. The link has no effect until the person presses the button, because mail filters
   * open links.
   */
  async function showLink(visit: Visit<undefined>, problem?: Problem) {
    const token = visit.isSent ? visit.field('token') : visit.parameter('token');
    const { email, userId, account } = await requireLink(visit, token);
    const data = {
      token,
      email: shownAddress(email),
      account: account && shownName(account.name),
      isNew: userId === undefined,
      name: visit.field('name'),
    };
    return visit.page(
      'link',
      data.account ? t('sign_in.link.join', { account: data.account }) : t('shell.labels.sign_in'),
      data,
      { problem },
    );
  }

  async function followLink(visit: Visit<undefined>) {
    const { request, reply } = visit;
    const token = visit.field('token');
    await requireLink(visit, token);
    const terms = sessionTerms(request, config, clock.now());
    const redeem = () =>
      database.transaction(async transaction => {
        const adminAs = (actor: Administration['by']) =>
          administrationIn(transaction, { audit, actor, now: terms.now });
        const redeemed = await redeemSignInLink(adminAs, token, { name: visit.field('name') }, terms);
        await keepLanguageOfBrowser(adminAs({ by: 'user', by_user_id: redeemed.userId }), request, redeemed.userId);
        return redeemed;
      });
    const signedIn = await redeem()
      .catch(error => (isAddressTaken(error) ? redeem() : Promise.reject(error)))
      .catch(async error => {
        // For not_found, shows the error page of an invalid link, because another request has already used the link.
        throw error instanceof AdministrationError && error.reason === 'not_found'
          ? await refuseLink(visit, token)
          : error;
      });
    const { userId, email } = signedIn;
    const next = safeNextPath(signedIn.next);
    const entry = { request_id: request.id, ip: request.ip, user_id: userId };
    if ('challenge' in signedIn) {
      audit.record('sign_in.code_requested', entry);
      return askForCode(reply, config, signedIn.challenge, next);
    }
    audit.record('sign_in.succeeded', { ...entry, method: 'link' });
    setSessionCookie(reply, config, signedIn.token, terms.expiresAt);
    await knownBrowsers.remember(request, reply, email);
    return next;
  }

  async function requireLink(visit: Visit<undefined>, token: string): Promise<FollowedLink> {
    const link = await readSignInLink(database, token, clock.now());
    if (!link) throw await refuseLink(visit, token);
    return link;
  }

  async function refuseLink({ request, isSent }: Visit<undefined>, token: string) {
    const entry = { request_id: request.id, ip: request.ip };
    const block = await readBlockOfLink(database, token, clock.now());
    if (block && block.blockedIn.length > 0) {
      if (isSent) audit.record('sign_in.failed', { ...entry, reason: 'blocked', user_id: block.userId });
      return new Refusal(403, t('identities.failures.title'), `${describeBlock(block.blockedIn)}.`);
    }
    if (isSent) audit.record('sign_in.failed', { ...entry, reason: 'link' });
    return new Refusal(
      404,
      t('sign_in.expired_link.title'),
      t('sign_in.link.expired', { minutes: signInLinkMinutes }),
      { label: t('sign_in.expired_link.ask_again'), href: '/sign-in' },
    );
  }
}
