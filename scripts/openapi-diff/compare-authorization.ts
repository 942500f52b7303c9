import { compareSecurity } from './compare-security.ts';
import { type Pair, type Place, tell } from './comparison.ts';
import { childOf, childrenOf, type Located } from './document.ts';
import { isSame } from './json.ts';
import { quote } from './sentence.ts';

/** Compares the security requirements, the required grants and the rate limits of an operation. */
export function compareAuthorization(place: Place, pair: Pair): void {
  compareSecurity(place, pair);
  compareGrants(place, 'The operation', pair, 'x-grant');
  compareGrantsByQuery(place, pair);
  compareBuckets(place, pair);
}

/**
 * Compares the authentication of a webhook. The top-level `security` of the document applies only to requests that
 * clients send to the API.
 */
export function compareWebhookSecurity(place: Place, pair: Pair): void {
  const [base, head] = [childOf(pair.base, 'security'), childOf(pair.head, 'security')];
  const isSent = (security: Located | undefined) => security !== undefined && !isSame(security.value, []);
  if (!isSent(base) && !isSent(head)) return;
  if (!isSame(base?.value, head?.value)) {
    tell(place, 'webhook-security-changed', 'Its authentication changed.', pair);
  }
}

/** The token grants that `x-grant` may require, the lowest first. */
const grants = ['read', 'write', 'moderate'];

/** Returns the rank of a grant. An unknown grant ranks above all others, because no token has it. */
function levelOf(grant: string | undefined): number {
  if (grant === undefined) return -1;
  const level = grants.indexOf(grant);
  return level === -1 ? grants.length : level;
}

function compareGrants(place: Place, subject: string, pair: Pair, key: string): void {
  const [was, is] = [pair.base, pair.head].map(node => {
    const value = childOf(node, key)?.value;
    return value === undefined ? undefined : String(value);
  });
  if (was === is) return;
  const text = (grant: string | undefined) => (grant === undefined ? 'none' : quote(grant));
  const message = `${subject} needs the grant ${text(is)} instead of ${text(was)}.`;
  tell(place, levelOf(is) >= levelOf(was) ? 'grant-raised' : 'grant-lowered', message, pair);
}

function compareGrantsByQuery(place: Place, pair: Pair): void {
  const [base, head] = [pair.base, pair.head].map(node => childOf(node, 'x-grant-by-query') ?? { ...node, value: {} });
  if (base === undefined || head === undefined) return;
  const names = new Set([base, head].flatMap(node => childrenOf(node).map(([name]) => name)));
  for (const name of names) compareGrants(place, `The query parameter ${name}`, { base, head }, name);
}

function compareBuckets(place: Place, pair: Pair): void {
  const [bucket, newBucket] = [pair.base, pair.head].map(node => childOf(node, 'x-bucket')?.value);
  if (newBucket !== undefined && bucket !== newBucket) {
    const was = bucket === undefined ? 'none' : quote(String(bucket));
    tell(
      place,
      'bucket-changed',
      `Requests count against the limit ${quote(String(newBucket))} instead of ${was}.`,
      pair,
    );
  }
  const [rate, newRate] = [rateOf(pair.base), rateOf(pair.head)];
  if (isSame(rate?.value, newRate?.value)) return;
  const message = `${textOfRate(newRate)} are allowed instead of ${textOfRate(rate)}.`;
  const isLower = (newRate?.perSecond ?? Infinity) < (rate?.perSecond ?? Infinity);
  // With the same rate but a longer window, clients may send a larger burst, but must then wait longer for the next
  // one.
  const isSameRate = newRate?.perSecond === rate?.perSecond;
  tell(place, isLower || isSameRate ? 'rate-limit-lowered' : 'rate-limit-raised', message, pair);
}

interface Rate extends Located {
  limit: number;
  windowSeconds: number;
  perSecond: number;
}

function rateOf(operation: Located): Rate | undefined {
  const node = childOf(operation, 'x-rate-limit');
  const [limit, windowSeconds] = ['limit', 'windowSeconds'].map(key => childOf(node, key)?.value);
  if (node === undefined || typeof limit !== 'number' || typeof windowSeconds !== 'number') return undefined;
  return { ...node, limit, windowSeconds, perSecond: limit / windowSeconds };
}

function textOfRate(rate: Rate | undefined): string {
  return rate === undefined ? 'any number of requests' : `${rate.limit} requests in ${rate.windowSeconds} seconds`;
}
