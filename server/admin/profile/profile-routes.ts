import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { cancelUserDeletion, findHolds, requestUserDeletion } from '../../domain/erasure/request-deletion.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { changePassword } from '../../domain/sign-in/set-password.ts';
import { updateUser } from '../../domain/users/edit-user.ts';
import { exportUser, recordExport } from '../../domain/users/export-user.ts';
import { lockUser } from '../../domain/users/find-user.ts';
import { mailFrequencies } from '../../entities/user.ts';
import { FormProblem, ownProblemOf, type Problem } from '../../pages/shell/form.ts';
import {
  accountAround,
  requireOrdinarySession,
  requireOwnSession,
  requireSession,
  sessionTerms,
  setSessionCookie,
} from '../../pages/shell/session.ts';
import { showErasure, showList, shownAddress } from '../../pages/shell/show.ts';
import { chargeForm } from '../../pages/shell/throttle-forms.ts';
import { type Route, serveRoutes } from '../../pages/shell/visit.ts';
import { askForCode } from '../../pages/sign-in/code-routes.ts';
import { askForOwnPassword, readNewPassword } from '../../pages/sign-in/own-password.ts';
import { buildKnownBrowsers } from '../../pages/sign-in/throttle.ts';
import { t } from '../../text/catalogue.ts';
import { languageOf } from '../../text/language.ts';
import { addressRoutes } from './address-routes.ts';
import { notificationRoutes, setMentions } from './notification-routes.ts';
import { type OwnVisit, profilePath, showProfile } from './profile-page.ts';
import { secondFactorRoutes } from './second-factor-routes.ts';

/**
 * Serves the signed-in user's own pages: profile, e-mail addresses, password, notifications, followed ideas, and the
 * deletion of the user.
 */
export function serveProfile(app: FastifyInstance, server: ServerDependencies) {
  const { clock, config, passwords } = server;
  const askForPassword = askForOwnPassword(server);
  const knownBrowsers = buildKnownBrowsers(server);
  const routes: Route<AccountOfUser | undefined>[] = [
    { path: '/admin/profile', show: showProfile, run: saveName, again: (visit, p) => showProfile(visit, p, 'name') },
    {
      path: '/admin/profile/language',
      run: saveLanguage,
      again: (visit, p) => showProfile(visit, p, 'language'),
    },
    {
      path: '/admin/profile/mail-frequency',
      run: saveMailFrequency,
      again: (visit, p) => showProfile(visit, p, 'frequency'),
    },
    { path: '/admin/profile/mentions', run: setMentions },
    { path: '/admin/profile/delete', show: askForDeletion, run: requestDeletion, problemOf: ownProblemOf },
    { path: '/admin/profile/export', show: showExport, run: sendExport },
    { path: '/admin/cancel-deletion', run: cancelDeletion },
    ...addressRoutes(server, askForPassword),
  ];
  const forOrdinarySessions: Route<AccountOfUser | undefined>[] = [
    { path: '/admin/profile/password', run: setPassword, again: (visit, p) => showProfile(visit, p, 'password') },
    ...secondFactorRoutes(server, askForPassword),
  ];
  serveRoutes(app, server, accountAround, notificationRoutes, [requireSession]);
  serveRoutes(app, server, accountAround, routes, [requireSession, requireOwnSession]);
  serveRoutes(app, server, accountAround, forOrdinarySessions, [requireSession, requireOrdinarySession]);

  /**
   * Changes the password. This change ends all sessions of the user, so the function starts a new session in this
   * browser.
   */
  async function setPassword(visit: OwnVisit) {
    const password = await readNewPassword(visit.request.body, visit.user.email);
    const user = await askForPassword(visit);
    const { now, expiresAt } = sessionTerms(visit.request, config, clock.now());
    const credential = await passwords.hash(password);
    const terms = { now, expiresAt, hasSecondFactor: visit.user.has_second_factor };
    const started = await knownBrowsers.keep(visit, visit.user.email, () =>
      visit.administer(admin => changePassword(admin, user, credential, terms)),
    );
    const next = profilePath(visit, 'password_changed');
    if ('challenge' in started) return askForCode(visit.reply, config, started.challenge, next);
    setSessionCookie(visit.reply, config, started.token, expiresAt);
    return next;
  }

  /**
   * Sends a file with the person's data. Asks for the password first, because the file contains all data of the person.
   */
  async function sendExport(visit: OwnVisit) {
    await askForPassword(visit);
    const userId = visit.user.id;
    await chargeForm(server, visit, 'downloads', [['data-export:user', String(userId), exportsPerHour, 3_600]]);
    await visit.administer(async admin => recordExport(admin, userId));
    const now = clock.now();
    const name = `idea-board-data-${now.toISOString().slice(0, 10)}.json`;
    return { file: exportUser(server.database, userId, now), name, type: 'application/json' } as const;
  }

  async function askForDeletion(visit: OwnVisit, problem?: Problem) {
    // Redirects without a notice, because the profile already shows the requested deletion.
    if (!problem && visit.user.deletion_requested_at !== null) return visit.path('/admin/profile');
    const data = {
      email: shownAddress(visit.user.email),
      graceHours: config.USER_DELETION_GRACE_HOURS,
      erasedFrom: showErasure(clock.now().toISOString(), config.USER_DELETION_GRACE_HOURS),
      holds: showList(await visit.administer(admin => findHolds(admin, visit.user.id))),
    };
    return visit.page('profile/delete', t('profile.deletion.title'), data, { problem });
  }

  async function requestDeletion(visit: OwnVisit) {
    await askForPassword(visit);
    await visit.administer(admin => requestUserDeletion(admin, visit.user.id));
    return visit.path('/admin/profile');
  }
}

/**
 * The maximum number of data exports that a person may download in an hour. It is low, because an export reads all data
 * of a person.
 */
const exportsPerHour = 3;

function showExport(visit: OwnVisit, problem?: Problem) {
  return visit.page('profile/export', t('profile.export.title'), {}, { problem });
}

async function saveName(visit: OwnVisit) {
  const name = visit.field('name');
  await visit.administer(async admin => updateUser(admin, await lockUser(admin, visit.user.id), { name }));
  return profilePath(visit, 'saved');
}

async function saveLanguage(visit: OwnVisit) {
  const code = visit.field('language');
  const language = languageOf(code) ?? null;
  if (language === null && code !== '') throw new FormProblem(422, t('profile.language.unknown'));
  await visit.administer(async admin => updateUser(admin, await lockUser(admin, visit.user.id), { language }));
  return profilePath(visit, 'saved');
}

async function saveMailFrequency(visit: OwnVisit) {
  const mailFrequency = mailFrequencies.find(one => one === visit.field('mail_frequency'));
  if (mailFrequency === undefined) throw new FormProblem(422, t('profile.mail_frequency.unknown'));
  await visit.administer(async admin => updateUser(admin, await lockUser(admin, visit.user.id), { mailFrequency }));
  return profilePath(visit, 'saved');
}

async function cancelDeletion(visit: OwnVisit) {
  await visit.administer(admin => cancelUserDeletion(admin, visit.user.id));
  return '/admin?notice=kept';
}
