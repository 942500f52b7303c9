import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { buildSigner } from '../../domain/signer.ts';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { networkOf } from '../../http/rate-limit.ts';
import { cookieName, cookieOptions } from '../shell/session.ts';
import { chargeForm, type Limit, type TooMany } from '../shell/throttle-forms.ts';

const quarterHour = 15 * 60;
const hour = 60 * 60;
const day = 24 * hour;

/**
 * Limits password attempts, codes, requests for mails, and invitations. Each limit applies to a network, a user, an
 * account or an e-mail address. A known browser has its own limit, so that other people cannot use up its attempts.
 * Each function counts an attempt before it looks anything up, so that concurrent attempts cannot exceed a limit. Above
 * a limit, the function throws a FormProblem. `giveBack` removes a harmless attempt from the count. The keys of the
 * counters contain e-mail addresses only as hashes with a key from APP_KEY.
 */
export function buildThrottle(server: ServerDependencies) {
  const { config, appKey } = server;
  const knownBrowsers = buildKnownBrowsers({ config, appKey });
  const signer = buildSigner(appKey, 'throttle');
  const identityOfText = (text: string) => signer.macOf(text).toString('base64url').slice(0, 22);
  const identityOf = (email: string) => identityOfText(canonicalAddress(email));

  const chargeAll = (request: FastifyRequest, reply: FastifyReply, what: TooMany, limits: Limit[]) =>
    chargeForm(server, { request, reply }, what, limits);

  return {
    /**
     * Counts a sign-in attempt both as failed and as successful. After the attempt, the caller removes the count that
     * is wrong. Successful sign-ins are limited only by e-mail address, even in known browsers, because they require
     * the right password.
     */
    async chargeSignIn(request: FastifyRequest, reply: FastifyReply, email: string) {
      const browser = knownBrowsers.find(request, email);
      const address = identityOf(email);
      const [bucket, identity] = browser === undefined ? ['sign-in:address', address] : ['sign-in:browser', browser];
      const failure = await chargeAll(request, reply, 'attempts', [
        ['sign-in:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP, quarterHour],
        [bucket, identity, config.RATE_LIMIT_SIGN_IN_ACCOUNT, quarterHour],
      ]);
      const success = await chargeAll(request, reply, 'attempts', [
        ['sign-in:success', address, config.RATE_LIMIT_SIGN_IN_SUCCESS, quarterHour],
      ]);
      return { succeed: failure.giveBack, fail: success.giveBack };
    },
    /**
     * Counts a two-factor code as wrong. For a right code, the caller undoes the count. A right password does not
     * change these counts.
     */
    chargeCode(request: FastifyRequest, reply: FastifyReply, { id, email }: { id: number; email: string }) {
      const browser = knownBrowsers.find(request, email);
      return chargeAll(request, reply, 'wrong_codes', [
        ['second-factor:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP, quarterHour],
        browser === undefined
          ? ['second-factor:user', String(id), config.RATE_LIMIT_SECOND_FACTOR, day]
          : ['second-factor:browser', browser, config.RATE_LIMIT_SECOND_FACTOR, day],
      ]);
    },
    /** Counts a sign-in with a provider as failed. After a successful sign-in, the caller undoes the count. */
    chargeProvider: (request: FastifyRequest, reply: FastifyReply) =>
      chargeAll(request, reply, 'attempts', [
        ['provider:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP, quarterHour],
      ]),
    chargePasswordLink: (request: FastifyRequest, reply: FastifyReply, email: string) =>
      chargeAll(request, reply, 'requests', [
        ['password-link:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP, quarterHour],
        ['password-link:address', identityOf(email), config.RATE_LIMIT_PASSWORD_LINK, hour],
      ]),
    chargeSignInLink: (request: FastifyRequest, reply: FastifyReply, email: string) =>
      chargeAll(request, reply, 'requests', [
        ['sign-in-link:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP, quarterHour],
        ['sign-in-link:address', identityOf(email), config.RATE_LIMIT_PASSWORD_LINK, hour],
      ]),
    /** Counts a mail that confirms an e-mail address, so that nobody can send many mails to other people. */
    chargeAddressLink: (request: FastifyRequest, reply: FastifyReply, userId: number, email: string) =>
      chargeAll(request, reply, 'requests', [
        ['address-link:user', String(userId), config.RATE_LIMIT_PASSWORD_LINK, hour],
        ['address-link:address', identityOf(email), config.RATE_LIMIT_PASSWORD_LINK, hour],
      ]),
    /**
     * Counts an invitation. Each account has its own limit for an e-mail address. So an account learns nothing about
     * the invitations of other accounts.
     */
    chargeInvitation: (
      request: FastifyRequest,
      reply: FastifyReply,
      { userId, accountId, email }: { userId: number; accountId: number; email: string },
    ) => {
      const invited = identityOfText(`${accountId} ${canonicalAddress(email)}`);
      return chargeAll(request, reply, 'invitations', [
        ['invitation:user', String(userId), config.RATE_LIMIT_INVITATIONS, hour],
        ['invitation:account', String(accountId), config.RATE_LIMIT_INVITATIONS_ACCOUNT, day],
        ['invitation:address', invited, config.RATE_LIMIT_INVITATIONS_ADDRESS, day],
      ]);
    },
  };
}

const keptSeconds = 90 * day;

/**
 * Recognizes a user's known browsers: the user has signed in with them before. An attacker can fail on purpose until
 * the limit for an e-mail address is reached, and so lock out the user with this address. A known browser therefore has
 * a cookie and its own limit. OWASP calls this cookie a device cookie. A thief of the cookie gets no session, and only
 * as many attempts as any other browser.
 */
export function buildKnownBrowsers({ config, appKey }: Pick<ServerDependencies, 'config' | 'appKey'>) {
  const signer = buildSigner(appKey, 'known browser');
  const cookie = cookieName(config, 'browser');

  /**
   * Returns the id under which this browser's attempts are counted. Returns undefined if the browser has no cookie of
   * an earlier sign-in with this e-mail address.
   */
  function find({ cookies }: FastifyRequest, email: string): string | undefined {
    return signer.read(cookies[cookie] ?? '', canonicalAddress(email));
  }

  return {
    find,
    /**
     * Call this after a complete sign-in. If the user has a second factor, the sign-in is complete after the code. A
     * known browser keeps its id, so it gets no new attempts.
     */
    remember(request: FastifyRequest, reply: FastifyReply, email: string) {
      const id = find(request, email) ?? randomBytes(16).toString('base64url');
      reply.setCookie(cookie, signer.sign(id, canonicalAddress(email)), {
        ...cookieOptions(config),
        maxAge: keptSeconds,
      });
    },
  };
}
