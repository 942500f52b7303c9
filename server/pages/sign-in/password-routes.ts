import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { AdministrationError, administrationIn } from '../../domain/administration.ts';
import { passwordLinkMinutes, readPasswordLink, requestPasswordLink } from '../../domain/sign-in/password-links.ts';
import { redeemPasswordLink } from '../../domain/sign-in/set-password.ts';
import { t } from '../../text/catalogue.ts';
import type { Problem } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { clearSessionCookie, keepLanguageOfBrowser } from '../shell/session.ts';
import { serveRoutes, type Visit } from '../shell/visit.ts';
import { passwordLengths, readNewPassword } from './own-password.ts';
import { buildKnownBrowsers, buildThrottle } from './throttle.ts';

/** Serves the pages that set a first password or replace a forgotten one, through a mailed link. */
export function servePasswords(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit, passwords } = server;
  const throttle = buildThrottle(server);
  const knownBrowsers = buildKnownBrowsers(server);

  const routes = [
    { path: '/admin/password-link', show: showRequest, run: requestLink },
    { path: '/admin/password', show: showNewPassword, run: setPassword },
  ];
  serveRoutes(app, server, () => undefined, routes, []);

  async function requestLink(visit: Visit<undefined>) {
    const { request, reply } = visit;
    const email = visit.field('email');
    await throttle.chargePasswordLink(request, reply, email);
    const userId = await requestPasswordLink(database, email);
    const user = userId === undefined ? {} : { user_id: userId };
    audit.record('password.reset_requested', { request_id: request.id, ip: request.ip, ...user });
    return showRequest(visit);
  }

  async function setPassword(visit: Visit<undefined>) {
    const { request, reply } = visit;
    const { email, userId, hash } = await requireLink(visit.field('token'));
    const credential = await passwords.hash(await readNewPassword(request.body, email));
    const redeem = () =>
      database.transaction(async transaction => {
        const actor = { by: 'user', by_user_id: userId } as const;
        const admin = administrationIn(transaction, { audit, actor, now: clock.now() });
        await redeemPasswordLink(admin, hash, credential);
        await keepLanguageOfBrowser(admin, request, userId);
      });
    await knownBrowsers.keep(visit, email, redeem).catch(error => {
      // An AdministrationError means that another request has already used the password link.
      throw error instanceof AdministrationError ? expiredLink() : error;
    });
    clearSessionCookie(reply, config);
    return '/sign-in?notice=password_set';
  }

  async function requireLink(token: string) {
    const link = await readPasswordLink(database, token, clock.now());
    if (!link) throw expiredLink();
    return link;
  }

  function showRequest(visit: Visit<undefined>, problem?: Problem) {
    const data = {
      email: visit.field('email'),
      isMailed: config.SMTP_URL !== undefined,
      minutes: passwordLinkMinutes,
      isRequested: visit.isSent && !problem,
    };
    return visit.page('password-request', t('sign_in.password.title'), data, { problem });
  }

  async function showNewPassword(visit: Visit<undefined>, problem?: Problem) {
    const token = problem ? visit.field('token') : visit.parameter('token');
    const { email } = await requireLink(token);
    return visit.page('new-password', t('sign_in.password.choose'), { ...passwordLengths, email, token }, { problem });
  }
}

function expiredLink() {
  return new Refusal(
    404,
    t('sign_in.expired_link.title'),
    t('sign_in.password.expired', { minutes: passwordLinkMinutes }),
    { label: t('sign_in.expired_link.ask_again'), href: '/admin/password-link' },
  );
}
