import type { ServerDependencies } from '../../dependencies.ts';
import type { Administration } from '../../domain/administration.ts';
import { recoveryCodeCount } from '../../domain/second-factor/recovery-codes.ts';
import {
  disableSecondFactor,
  enableSecondFactor,
  readSecondFactor,
  regenerateRecoveryCodes,
} from '../../domain/second-factor/second-factor.ts';
import { buildSecondFactorKeys } from '../../domain/second-factor/second-factor-keys.ts';
import { makeTotpSecret, totpUrl } from '../../domain/second-factor/totp.ts';
import { methodOf } from '../../domain/second-factor/use-code.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { FormProblem, newFormId, type Problem, requireFirst } from '../../pages/shell/form.ts';
import { secondFactorPath } from '../../pages/shell/second-factor.ts';
import { isAdmin, pathIn, sessionOf } from '../../pages/shell/session.ts';
import { shownAddress, shownName, showTime } from '../../pages/shell/show.ts';
import type { Route } from '../../pages/shell/visit.ts';
import { safeNextPath } from '../../pages/sign-in/next-path.ts';
import type { askForOwnPassword } from '../../pages/sign-in/own-password.ts';
import { buildKnownBrowsers, buildThrottle } from '../../pages/sign-in/throttle.ts';
import { t, textKeysIn } from '../../text/catalogue.ts';
import type { OwnVisit } from './profile-page.ts';
import { drawQrCode } from './qr-code.ts';

const notices = textKeysIn('profile.second_factor.notices');

/** A person has this number of minutes to scan the QR code and enter the first code. */
const offerMinutes = 30;

/** Serves the page where a user turns two-factor sign-in on and off, and replaces the recovery codes. */
export function secondFactorRoutes(
  server: ServerDependencies,
  askForPassword: ReturnType<typeof askForOwnPassword>,
): Route<AccountOfUser | undefined>[] {
  const { database, clock, config, audit } = server;
  const keys = buildSecondFactorKeys(server.appKey);
  const throttle = buildThrottle(server);
  const knownBrowsers = buildKnownBrowsers(server);

  return [
    { path: secondFactorPath, show },
    { path: `${secondFactorPath}/offer`, run: offer, again: show },
    { path: `${secondFactorPath}/enable`, run: enable, again: showOffer },
    { path: `${secondFactorPath}/recovery-codes`, run: regenerate, again: show },
    { path: `${secondFactorPath}/disable`, run: disable, again: show },
  ];

  async function show(visit: OwnVisit, problem?: Problem) {
    const { user, request } = visit;
    const factor = await readSecondFactor(database, user.id);
    const requiring = user.accounts.filter(account => account.requires_second_factor && isAdmin(account));
    const data = {
      email: user.email,
      next: nextOf(visit),
      enabled: factor && { since: showTime(new Date(factor.created_at)), codesLeft: factor.codes_left },
      recoveryCodeCount,
      requiring: requiring.map(account => ({
        name: shownName(account.name),
        leavePath: pathIn(request, account, '/admin/members/leave'),
      })),
      formId: newFormId(),
      refused: problem && request.url.split('?', 1)[0],
    };
    return visit.page('profile/second-factor', t('profile.second_factor.title'), data, {
      notices: factor ? {} : notices,
      problem,
    });
  }

  /**
   * Shows the secret of a new second factor. The database stores the secret only after the user has confirmed it with a
   * code.
   */
  async function offer(visit: OwnVisit) {
    await askForPassword(visit);
    const expiresAt = new Date(clock.now().getTime() + offerMinutes * 60_000);
    return pageOfOffer(visit, keys.sealOffer(visit.user.id, makeTotpSecret(), expiresAt));
  }

  function showOffer(visit: OwnVisit, problem: Problem) {
    const offered = visit.field('offer');
    const isOpen = keys.openOffer(visit.user.id, offered, clock.now()) !== undefined;
    return isOpen && problem.status === 422 ? pageOfOffer(visit, offered, problem) : show(visit, problem);
  }

  function pageOfOffer(visit: OwnVisit, offered: string, problem?: Problem) {
    const { user } = visit;
    const secret = requireOffer(visit, offered);
    const issuer = `Idea-Board (${new URL(config.BASE_URL).hostname})`;
    const url = totpUrl(secret, { issuer, label: shownAddress(user.email) });
    const data = {
      offer: offered,
      next: nextOf(visit),
      secret: secret.match(/.{1,4}/g)?.join(' '),
      url,
      qrCode: drawQrCode(url),
      formId: newFormId(),
    };
    return visit.page('profile/second-factor-offer', t('profile.second_factor.turn_on'), data, { problem });
  }

  function requireOffer({ user }: OwnVisit, offered: string): string {
    const secret = keys.openOffer(user.id, offered, clock.now());
    if (secret !== undefined) return secret;
    throw new FormProblem(409, t('profile.second_factor_offer.expired', { count: offerMinutes }));
  }

  async function enable(visit: OwnVisit) {
    const { user, tokenHash } = sessionOf(visit.request);
    const secret = requireOffer(visit, visit.field('offer'));
    const codes = await knownBrowsers.keep(visit, user.email, () =>
      visit.administer(async admin => {
        await requireFirst(admin, visit.request.body);
        const session = { userId: user.id, tokenHash };
        return enableSecondFactor(admin, keys, session, { secret, code: visit.field('code') });
      }),
    );
    return pageOfCodes(visit, codes);
  }

  async function regenerate(visit: OwnVisit) {
    const codes = await withCode(visit, async (admin, code) => {
      await requireFirst(admin, visit.request.body);
      return regenerateRecoveryCodes(admin, keys, visit.user.id, code);
    });
    return pageOfCodes(visit, codes);
  }

  async function disable(visit: OwnVisit) {
    const work = async (admin: Administration, code: string) =>
      (await disableSecondFactor(admin, keys, visit.user.id, code)) || undefined;
    await knownBrowsers.keep(visit, visit.user.email, () => withCode(visit, work));
    return visit.path(secondFactorPath, { notice: 'disabled' });
  }

  /**
   * Checks the user's password, and then runs `work` with the entered code. `work` returns undefined if the code is
   * wrong.
   */
  async function withCode<T>(visit: OwnVisit, work: (admin: Administration, code: string) => Promise<T | undefined>) {
    const { user, request, reply } = visit;
    const code = visit.field('code');
    await askForPassword(visit);
    const charged = await throttle.chargeCode(request, reply, user);
    const result = await visit.administer(admin => work(admin, code));
    if (result === undefined) {
      const entry = { request_id: request.id, ip: request.ip, user_id: user.id };
      audit.record('sign_in.second_factor_failed', { ...entry, method: methodOf(code) });
      throw new FormProblem(422, t('profile.second_factor.wrong_code'));
    }
    await charged.giveBack();
    return result;
  }

  function pageOfCodes(visit: OwnVisit, codes: string[]) {
    const data = { codes: codes.join('\n'), next: nextOf(visit) };
    return visit.page('profile/recovery-codes', t('profile.recovery_codes.title'), data);
  }
}

/**
 * Returns the path of the page that required two-factor sign-in. Returns an empty text if the user came from the
 * profile.
 */
function nextOf(visit: OwnVisit): string {
  const next = visit.isSent ? visit.field('next') : visit.parameter('next');
  return next === '' ? '' : safeNextPath(next);
}
