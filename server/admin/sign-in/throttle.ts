import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { canonicalAddress } from '../../domain/users/canonical-address.ts';
import { auditLimit } from '../../http/audit-refusals.ts';
import {
  type BucketState,
  charge,
  isExhausted,
  networkOf,
  openCounter,
  refund,
  setRateLimitHeaders,
} from '../../http/rate-limit.ts';
import { cookieName, cookieOptions } from '../shell/session.ts';

const quarterHour = 15 * 60;
const hour = 60 * 60;
const day = 24 * hour;

/** The try was charged, or the next one is allowed only after some seconds. */
export type Charge = { giveBack(): Promise<void> } | { retrySeconds: number };

/** A try to sign in is charged as a failure and as a success. The outcome gives one of them back. */
export type SignInCharge = { succeed(): Promise<void>; fail(): Promise<void> } | { retrySeconds: number };

/** A bucket, its key, the limit and the window in seconds. */
type Limit = [bucket: string, identity: string, limit: number, windowSeconds: number];

/**
 * Limits password tries and requests for mails, by network or user and by address. A known browser has tries of its own,
 * whatever others do with the address. A try is charged before anything is looked up, so that concurrent tries cannot pass;
 * a harmless one is given back. The table has hashes under the application key instead of addresses.
 */
export function buildThrottle({ database, clock, config, appKey, audit }: ServerDependencies) {
  const knownBrowsers = buildKnownBrowsers({ config, appKey });
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board throttle 1', 32));
  const identityOfText = (text: string) => createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
  const identityOf = (email: string) => identityOfText(canonicalAddress(email));

  async function chargeAll(request: FastifyRequest, reply: FastifyReply, limits: Limit[]): Promise<Charge> {
    const now = clock.now();
    const charged: BucketState[] = [];
    for (const [bucket, identity, limit, windowSeconds] of limits) {
      const counter = openCounter(bucket, `${bucket}:${identity}`, limit, windowSeconds, now);
      const state = await charge(database, counter, now);
      if (isExhausted(state)) {
        auditLimit(audit, request, state);
        setRateLimitHeaders(reply, state);
        return { retrySeconds: state.resetSeconds };
      }
      charged.push(state);
    }
    return {
      async giveBack() {
        for (const state of charged) await refund(database, state);
      },
    };
  }

  return {
    /**
     * Successes are limited by address only, also in known browsers: only the owner of the password has any. A failure
     * gives this charge back, so strangers cannot use it up.
     */
    chargeSignIn: async (request: FastifyRequest, reply: FastifyReply, email: string): Promise<SignInCharge> => {
      const browser = knownBrowsers.find(request, email);
      const address = identityOf(email);
      const [bucket, identity] = browser === undefined ? ['sign-in:address', address] : ['sign-in:browser', browser];
      const failure = await chargeAll(request, reply, [
        ['sign-in:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP, quarterHour],
        [bucket, identity, config.RATE_LIMIT_SIGN_IN_ACCOUNT, quarterHour],
      ]);
      if ('retrySeconds' in failure) return failure;
      const success = await chargeAll(request, reply, [
        ['sign-in:success', address, config.RATE_LIMIT_SIGN_IN_SUCCESS, quarterHour],
      ]);
      if ('retrySeconds' in success) return success;
      return { succeed: failure.giveBack, fail: success.giveBack };
    },
    chargePasswordLink: (request: FastifyRequest, reply: FastifyReply, email: string) =>
      chargeAll(request, reply, [
        ['password-link:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP, quarterHour],
        ['password-link:address', identityOf(email), config.RATE_LIMIT_PASSWORD_LINK, hour],
      ]),
    /** Charges a link that confirms an address, so that nobody has many mails sent to others. */
    chargeAddressLink: (request: FastifyRequest, reply: FastifyReply, userId: number, email: string) =>
      chargeAll(request, reply, [
        ['address-link:user', String(userId), config.RATE_LIMIT_PASSWORD_LINK, hour],
        ['address-link:address', identityOf(email), config.RATE_LIMIT_PASSWORD_LINK, hour],
      ]),
    /** The limit by address is one for each account, so that no account finds out whom others invite. */
    chargeInvitation: (
      request: FastifyRequest,
      reply: FastifyReply,
      { userId, accountId, email }: { userId: number; accountId: number; email: string },
    ) => {
      const invited = identityOfText(`${accountId} ${canonicalAddress(email)}`);
      return chargeAll(request, reply, [
        ['invitation:user', String(userId), config.RATE_LIMIT_INVITATIONS, hour],
        ['invitation:account', String(accountId), config.RATE_LIMIT_INVITATIONS_ACCOUNT, day],
        ['invitation:address', invited, config.RATE_LIMIT_INVITATIONS_ADDRESS, day],
      ]);
    },
  };
}

/** `in 12 minutes` */
export function describeWait(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes > 90) return `in ${Math.ceil(minutes / 60)} hours`;
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`;
}

const keptSeconds = 90 * day;

/**
 * Somebody who fails on purpose uses up the tries of an address and would lock its owner out. So a browser in which the
 * owner has signed in holds a cookie, and has tries of its own with the address: OWASP calls it a device cookie. It is no
 * session and opens nothing. A thief of the cookie has no more tries than any browser.
 */
export function buildKnownBrowsers({ config, appKey }: Pick<ServerDependencies, 'config' | 'appKey'>) {
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board known browser 1', 32));
  const cookie = cookieName(config, 'browser');
  const macOf = (id: string, email: string) =>
    createHmac('sha256', key)
      .update(`${id} ${canonicalAddress(email)}`)
      .digest();

  /** The id by which a browser's tries are counted; undefined if nobody signed in with the address there. */
  function find({ cookies }: FastifyRequest, email: string): string | undefined {
    const [, id = '', mac = ''] = /^([\w-]{22})\.([\w-]{43})$/.exec(cookies[cookie] ?? '') ?? [];
    const given = Buffer.from(mac, 'base64url');
    const expected = macOf(id, email);
    return given.length === expected.length && timingSafeEqual(given, expected) ? id : undefined;
  }

  return {
    find,
    /** Call it after the password was right. A known browser keeps its id, so that it gets no new tries. */
    remember(request: FastifyRequest, reply: FastifyReply, email: string) {
      const id = find(request, email) ?? randomBytes(16).toString('base64url');
      const value = `${id}.${macOf(id, email).toString('base64url')}`;
      reply.setCookie(cookie, value, { ...cookieOptions(config), maxAge: keptSeconds });
    },
  };
}
