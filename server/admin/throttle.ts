import { createHmac, hkdfSync } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../dependencies.ts';
import { auditLimit } from '../http/audit-refusals.ts';
import {
  type BucketState,
  charge,
  isExhausted,
  networkOf,
  openCounter,
  refund,
  setRateLimitHeaders,
} from '../http/rate-limit.ts';

const quarterHour = 15 * 60;
const hour = 60 * 60;

/** What a try was charged, or when the next one is let in. */
export type Charge = { giveBack(): Promise<void> } | { retrySeconds: number };

/**
 * Bounds how often passwords are tried and mails asked for: from one network, and for one address, whoever has it. A
 * try is charged before anything is looked up, so that of many at once no more get through; one that succeeds costs
 * nothing. Whoever reads the table sees hashes under the application key, and no address.
 */
export function buildThrottle({ database, clock, config, appKey, audit }: ServerDependencies) {
  const key = Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board throttle 1', 32));
  const identityOf = (email: string) =>
    createHmac('sha256', key).update(email.trim().toLowerCase()).digest('base64url').slice(0, 22);

  async function chargeBoth(
    request: FastifyRequest,
    reply: FastifyReply,
    [ofNetwork, ofAddress]: [Limit, Limit & { email: string }],
  ): Promise<Charge> {
    const now = clock.now();
    const charged: BucketState[] = [];
    const identified = [
      { ...ofNetwork, identity: networkOf(request.ip) },
      { ...ofAddress, identity: identityOf(ofAddress.email) },
    ];
    for (const { bucket, identity, limit, windowSeconds } of identified) {
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
    chargeSignIn: (request: FastifyRequest, reply: FastifyReply, email: string) =>
      chargeBoth(request, reply, [
        { bucket: 'sign-in:ip', limit: config.RATE_LIMIT_SIGN_IN_IP, windowSeconds: quarterHour },
        { bucket: 'sign-in:address', limit: config.RATE_LIMIT_SIGN_IN_ACCOUNT, windowSeconds: quarterHour, email },
      ]),
    chargePasswordLink: (request: FastifyRequest, reply: FastifyReply, email: string) =>
      chargeBoth(request, reply, [
        { bucket: 'password-link:ip', limit: config.RATE_LIMIT_SIGN_IN_IP, windowSeconds: quarterHour },
        { bucket: 'password-link:address', limit: config.RATE_LIMIT_PASSWORD_LINK, windowSeconds: hour, email },
      ]),
  };
}

interface Limit {
  bucket: string;
  limit: number;
  windowSeconds: number;
}

/** `in 12 minutes` */
export function describeWait(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return minutes === 1 ? 'in a minute' : `in ${minutes} minutes`;
}
