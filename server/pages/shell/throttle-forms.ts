import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { auditLimit } from '../../http/audit-refusals.ts';
import {
  type BucketState,
  charge,
  isExhausted,
  openCounter,
  refund,
  setExceededHeaders,
} from '../../http/rate-limit.ts';
import { t } from '../../text/catalogue.ts';
import { FormProblem } from './form.ts';

/**
 * The last part of the key of a message in the group `shell.too_many`. For example, `attempts` is the key of the
 * message `There were too many attempts`.
 */
export type TooMany = 'attempts' | 'downloads' | 'invitations' | 'requests' | 'uploads' | 'writes' | 'wrong_codes';

/** A rate limit: its name, the limited client, user or e-mail address, the maximum count and the period's length. */
export type Limit = [bucket: string, identity: string, limit: number, windowSeconds: number];

/**
 * Counts a submitted form against rate limits. If a limit is exceeded, throws a FormProblem with the message for
 * `what`. The returned function `giveBack` undoes the count.
 */
export async function chargeForm(
  { database, clock, audit }: Pick<ServerDependencies, 'database' | 'clock' | 'audit'>,
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  what: TooMany,
  limits: Limit[],
) {
  const now = clock.now();
  const charged: BucketState[] = [];
  for (const [bucket, identity, limit, windowSeconds] of limits) {
    const counter = openCounter(bucket, `${bucket}:${identity}`, limit, windowSeconds, now);
    const state = await charge(database, counter, now);
    if (isExhausted(state)) {
      auditLimit(audit, request, state);
      setExceededHeaders(reply, state);
      throw new FormProblem(429, `${t(`shell.too_many.${what}`)}. ${adviceAfter(state.resetSeconds)}`);
    }
    charged.push(state);
  }
  return {
    async giveBack() {
      for (const state of charged) await refund(database, state);
    },
  };
}

function adviceAfter(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  if (minutes > 90) return t('shell.try_again.hours', { hours: Math.ceil(minutes / 60) });
  return t('shell.try_again.minutes', { count: minutes });
}
