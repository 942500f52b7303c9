import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { MayMail } from '../../domain/identities/sign-in-with-identity.ts';
import { readCredentialTimes } from '../../domain/sign-in/credential-times.ts';
import { buildSigner } from '../../domain/signer.ts';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { auditLimit } from '../../http/audit-refusals.ts';
import { charge, isExhausted, networkOf, openCounter } from '../../http/rate-limit.ts';
import { cookieName, cookieOptions } from '../shell/session.ts';
import { chargeForm, type Limit, type TooMany } from '../shell/throttle-forms.ts';

const quarterHour = 15 * 60;
const hour = 60 * 60;
const day = 24 * hour;

/** All known browsers of a user together may send as many wrong codes as this number of browsers. */
const browsersWithCodes = 5;

/**
 * Limits password attempts, codes, requests for mails, and invitations. Each limit applies to a network, a user, an
 * account or an e-mail address. A known browser has its own limit, so that other people cannot use up its attempts.
 * Each function counts an attempt before the server checks it, so that concurrent attempts cannot exceed a limit. Above a
 * limit, the function throws a FormProblem. `giveBack` removes a harmless attempt from the count. The keys of the counters
 * contain e-mail addresses only as hashes with a key from APP_KEY.
 */
export function buildThrottle(server: ServerDependencies) {
  const { config, appKey, audit, clock } = server;
  const knownBrowsers = buildKnownBrowsers(server);
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
      const browser = await knownBrowsers.find(request, email);
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
     * change these counts. A person who has never entered a right code cannot use up the limits of known browsers.
     */
    async chargeCode(request: FastifyRequest, reply: FastifyReply, { id, email }: { id: number; email: string }) {
      const browser = await knownBrowsers.find(request, email);
      const limit = config.RATE_LIMIT_SECOND_FACTOR;
      const limits: Limit[] =
        browser === undefined
          ? [['second-factor:user', String(id), limit, day]]
          : [
              ['second-factor:browser', browser, limit, day],
              ['second-factor:browsers', String(id), browsersWithCodes * limit, day],
            ];
      return chargeAll(request, reply, 'wrong_codes', [
        ['second-factor:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP, quarterHour],
        ...limits,
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
    /**
     * Builds the function that counts a new person with an unconfirmed e-mail address. The function returns whether the
     * server may send mails to this address. Above the limit, the person can still sign in.
     */
    unconfirmedAddresses(request: FastifyRequest, accountId: number): MayMail {
      const bucket = 'unconfirmed-address:account';
      const limit = config.RATE_LIMIT_UNCONFIRMED_ADDRESSES;
      return async db => {
        const now = clock.now();
        const state = await charge(db, openCounter(bucket, `${bucket}:${accountId}`, limit, day, now), now);
        auditLimit(audit, request, state);
        return !isExhausted(state);
      };
    },
  };
}

const keptSeconds = 90 * day;

/**
 * Recognizes a user's known browsers: the user has signed in with them before. An attacker can fail on purpose until
 * the limit for an e-mail address is reached, and so lock out the user with this address. A known browser therefore has
 * a cookie and its own limit. OWASP calls this cookie a device cookie. A thief of the cookie gets no session, and only
 * as many attempts as any other browser.
 *
 * A cookie is valid only for the user's present password and second factor. Otherwise an attacker who once knew the
 * password could collect cookies, and later guess with the limits of many browsers.
 */
export function buildKnownBrowsers({
  config,
  appKey,
  database,
}: Pick<ServerDependencies, 'config' | 'appKey' | 'database'>) {
  const signer = buildSigner(appKey, 'known browser');
  const cookie = cookieName(config, 'browser');

  /** Returns the text that a cookie's signature also covers. */
  async function contextOf(email: string): Promise<string> {
    const canonicalEmail = canonicalAddress(email);
    const times = await readCredentialTimes(database, canonicalEmail);
    return [canonicalEmail, times?.password_set_at, times?.second_factor_since].join(' ');
  }

  /**
   * Returns the id under which this browser's attempts are counted. Returns undefined if the browser has no cookie of
   * an earlier sign-in with this e-mail address and the present password and second factor.
   */
  async function find({ cookies }: FastifyRequest, email: string): Promise<string | undefined> {
    const signed = cookies[cookie];
    return signed === undefined ? undefined : signer.read(signed, await contextOf(email));
  }

  async function setCookie(reply: FastifyReply, email: string, id: string): Promise<void> {
    reply.setCookie(cookie, signer.sign(id, await contextOf(email)), { ...cookieOptions(config), maxAge: keptSeconds });
  }

  return {
    find,
    /**
     * Call this after a complete sign-in. If the user has a second factor, the sign-in is complete after the code. A
     * known browser keeps its id, so it gets no new attempts.
     */
    async remember(request: FastifyRequest, reply: FastifyReply, email: string): Promise<void> {
      await setCookie(reply, email, (await find(request, email)) ?? randomBytes(16).toString('base64url'));
    },
    /**
     * Runs a change of the user's password or second factor. If this browser is known, it stays known and keeps its id.
     * All other browsers become unknown.
     */
    async keep<T>(
      { request, reply }: { request: FastifyRequest; reply: FastifyReply },
      email: string,
      change: () => Promise<T>,
    ): Promise<T> {
      const id = await find(request, email);
      const changed = await change();
      if (id !== undefined) await setCookie(reply, email, id);
      return changed;
    },
  };
}
