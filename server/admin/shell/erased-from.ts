import type { Config } from '../../config.ts';
import { type ShownTime, showTime } from './show-time.ts';

const hourMs = 3_600_000;

/** When whoever asked for their deletion is erased at the earliest; undefined for whoever did not. */
export function userErasedFrom(
  requestedAt: string | null,
  { USER_DELETION_GRACE_HOURS }: Pick<Config, 'USER_DELETION_GRACE_HOURS'>,
): ShownTime | undefined {
  return after(requestedAt, USER_DELETION_GRACE_HOURS);
}

/** When an account is erased at the earliest whose deletion was scheduled. */
export function accountErasedFrom(
  scheduledAt: string | null,
  { ACCOUNT_DELETION_GRACE_DAYS }: Pick<Config, 'ACCOUNT_DELETION_GRACE_DAYS'>,
): ShownTime | undefined {
  return after(scheduledAt, ACCOUNT_DELETION_GRACE_DAYS * 24);
}

function after(askedAt: string | null, graceHours: number): ShownTime | undefined {
  return askedAt === null ? undefined : showTime(new Date(Date.parse(askedAt) + graceHours * hourMs));
}
