import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { administrationIn } from '../../domain/administration.ts';
import { completeSignIn } from '../../domain/second-factor/complete-sign-in.ts';
import { buildSecondFactorKeys } from '../../domain/second-factor/second-factor-keys.ts';
import { methodOf } from '../../domain/second-factor/use-code.ts';
import { type Challenge, type OpenChallenge, readChallenge } from '../../domain/sign-in/challenge.ts';
import { hashOfSecret } from '../../domain/sign-in/secret-text.ts';
import { t } from '../../text/catalogue.ts';
import { FormProblem, ownProblemOf, type Problem } from '../shell/form.ts';
import { cookieName, cookieOptions, sessionTerms, setSessionCookie } from '../shell/session.ts';
import { serveRoutes, type Visit } from '../shell/visit.ts';
import { nextOf, signInPath } from './next-path.ts';
import { buildKnownBrowsers, buildThrottle } from './throttle.ts';

const path = '/sign-in/code';

/**
 * Gives the browser a token for a sign-in that still needs a two-factor code. Returns the path of the page that asks
 * for the code. After a right code, that page redirects to `next`.
 */
export function askForCode(reply: FastifyReply, config: Config, { token, expiresAt }: Challenge, next: string): string {
  reply.setCookie(cookieName(config, 'challenge'), token, { ...cookieOptions(config), expires: expiresAt });
  return `${path}?${new URLSearchParams({ next })}`;
}

/** Serves the page that asks for a code after the password or a mailed link, if the user has two-factor sign-in. */
export function serveCodes(app: FastifyInstance, server: ServerDependencies) {
  const { database, clock, config, audit } = server;
  const throttle = buildThrottle(server);
  const knownBrowsers = buildKnownBrowsers(server);
  const keys = buildSecondFactorKeys(server.appKey);
  const cookie = cookieName(config, 'challenge');

  serveRoutes(app, server, () => undefined, [{ path, show, run: enterCode, problemOf: ownProblemOf }], []);

  async function show(visit: Visit<undefined>, problem?: Problem) {
    const next = nextOf(visit);
    if (!(await findChallenge(visit.request))) return backToSignIn(visit.reply, next);
    return visit.page('code', t('sign_in.code.title'), { next, signInPath: signInPath(next) }, { problem });
  }

  async function enterCode(visit: Visit<undefined>) {
    const { request, reply } = visit;
    const next = nextOf(visit);
    const code = visit.field('code');
    const challenge = await findChallenge(request);
    if (!challenge) return backToSignIn(reply, next);
    const charged = await throttle.chargeCode(request, reply, challenge);
    const { id: userId, email } = challenge;
    const terms = sessionTerms(request, config, clock.now());
    const outcome = await database.transaction(transaction => {
      const actor = { by: 'user', by_user_id: userId } as const;
      return completeSignIn(
        administrationIn(transaction, { audit, actor, now: terms.now }),
        keys,
        challenge,
        code,
        terms,
      );
    });
    const entry = { request_id: request.id, ip: request.ip, user_id: userId };
    const method = methodOf(code);
    if ('refused' in outcome) {
      if (outcome.refused === 'expired') return backToSignIn(reply, next);
      audit.record('sign_in.second_factor_failed', { ...entry, method });
      throw new FormProblem(422, t('sign_in.code.wrong'));
    }
    await charged.giveBack();
    audit.record('sign_in.second_factor_succeeded', { ...entry, method });
    audit.record('sign_in.succeeded', { ...entry, method: methodOfSignIn(challenge) });
    reply.clearCookie(cookie, cookieOptions(config));
    setSessionCookie(reply, config, outcome.token, terms.expiresAt);
    await knownBrowsers.remember(request, reply, email);
    return next;
  }

  async function findChallenge({ cookies }: FastifyRequest): Promise<OpenChallenge | undefined> {
    const tokenHash = hashOfSecret(cookies[cookie] ?? '');
    return tokenHash && readChallenge(database, tokenHash, clock.now());
  }

  function backToSignIn(reply: FastifyReply, next: string): string {
    reply.clearCookie(cookie, cookieOptions(config));
    return signInPath(next, { notice: 'code_expired' });
  }
}

/**
 * Returns how the sign-in began, before the two-factor code: with a password, a mailed link or an identity provider.
 */
function methodOfSignIn({ boundTo, set_at }: OpenChallenge) {
  if (boundTo) return 'provider';
  return set_at === null ? 'link' : 'password';
}
