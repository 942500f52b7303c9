import { createHmac, hkdfSync } from 'node:crypto';
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
import { buildKnownBrowsers } from './known-browser.ts';

const quarterHour = 15 * 60;
const hour = 60 * 60;
const day = 24 * hour;

/** What a try was charged, or when the next one is let in. */
export type Charge = { giveBack(): Promise<void> } | { retrySeconds: number };

/** A try to sign in was charged as a failure and as a success: the outcome gives one of them back. */
export type SignInCharge = { succeed(): Promise<void>; fail(): Promise<void> } | { retrySeconds: number };

/**
 * Bounds how often passwords are tried and mails asked for: from one network or by one person, and for one address,
 * whoever has it; in a browser in which they have signed in, whatever others do with their address elsewhere. A try is
 * charged before anything is looked up, so that of many at once no more get through; one that turns out to be harmless is
 * given back. Whoever reads the table sees hashes under the application key, and no address.
 */
export function buildThrottle({ database, clock, config, appKey, audit }: ServerDependencies) {
  const knownBrowsers = buildKnownBrowsers({ config, appKey });
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board throttle 1', 32));
  const identityOfText = (text: string) => createHmac('sha256', key).update(text).digest('base64url').slice(0, 22);
  const identityOf = (email: string) => identityOfText(canonicalAddress(email));

  async function chargeAll(request: FastifyRequest, reply: FastifyReply, limits: Limit[]): Promise<Charge> {
    const now = clock.now();
    const charged: BucketState[] = [];
    for (const { bucket, identity, limit, windowSeconds } of limits) {
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

  const perQuarter = (bucket: string, identity: string, limit: number) => ({
    bucket,
    identity,
    limit,
    windowSeconds: quarterHour,
  });
  const perDay = (bucket: string, identity: string, limit: number) => ({
    bucket,
    identity,
    limit,
    windowSeconds: day,
  });
  const linksPerHour = (bucket: string, identity: string) => ({
    bucket,
    identity,
    limit: config.RATE_LIMIT_PASSWORD_LINK,
    windowSeconds: hour,
  });

  return {
    /**
     * Successes are bounded by address alone, in known browsers too: only the owner of the password has any. A failure
     * gives its charge back, so strangers cannot use them up.
     */
    chargeSignIn: async (request: FastifyRequest, reply: FastifyReply, email: string): Promise<SignInCharge> => {
      const browser = knownBrowsers.find(request, email);
      const limit = config.RATE_LIMIT_SIGN_IN_ACCOUNT;
      const failure = await chargeAll(request, reply, [
        perQuarter('sign-in:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP),
        browser === undefined
          ? perQuarter('sign-in:address', identityOf(email), limit)
          : perQuarter('sign-in:browser', browser, limit),
      ]);
      if ('retrySeconds' in failure) return failure;
      const success = await chargeAll(request, reply, [
        perQuarter('sign-in:success', identityOf(email), config.RATE_LIMIT_SIGN_IN_SUCCESS),
      ]);
      if ('retrySeconds' in success) return success;
      return { succeed: failure.giveBack, fail: success.giveBack };
    },
    chargePasswordLink: (request: FastifyRequest, reply: FastifyReply, email: string) =>
      chargeAll(request, reply, [
        perQuarter('password-link:ip', networkOf(request.ip), config.RATE_LIMIT_SIGN_IN_IP),
        linksPerHour('password-link:address', identityOf(email)),
      ]),
    /** Of a link to confirm an address: nobody has many mails sent to others. */
    chargeAddressLink: (request: FastifyRequest, reply: FastifyReply, userId: number, email: string) =>
      chargeAll(request, reply, [
        linksPerHour('address-link:user', String(userId)),
        linksPerHour('address-link:address', identityOf(email)),
      ]),
    /** By who invites, by where to, and by who is invited there. No account finds out whom others invite. */
    chargeInvitation: (
      request: FastifyRequest,
      reply: FastifyReply,
      { userId, accountId, email }: { userId: number; accountId: number; email: string },
    ) =>
      chargeAll(request, reply, [
        {
          bucket: 'invitation:user',
          identity: String(userId),
          limit: config.RATE_LIMIT_INVITATIONS,
          windowSeconds: hour,
        },
        perDay('invitation:account', String(accountId), config.RATE_LIMIT_INVITATIONS_ACCOUNT),
        perDay(
          'invitation:address',
          identityOfText(`${accountId} ${canonicalAddress(email)}`),
          config.RATE_LIMIT_INVITATIONS_ADDRESS,
        ),
      ]),
  };
}

interface Limit {
  bucket: string;
  identity: string;
  limit: number;
  windowSeconds: number;
}

/** `in 12 minutes` */
export function describeWait(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  const hours = Math.ceil(minutes / 60);
  if (minutes > 90) return `in ${hours} hours`;
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`;
}
