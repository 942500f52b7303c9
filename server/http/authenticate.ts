import type { FastifyReply, FastifyRequest } from 'fastify';
import { sql as fragment } from 'kysely';
import type { Bucket } from '../../contract/limits.ts';
import type { Queryable } from '../database/database.ts';
import { inTimeOr } from '../database/in-time.ts';
import { type Arguments, query } from '../database/query.ts';
import { isDatabaseUnavailable } from '../database/unavailable.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { maskedNetworkOf } from '../observability/mask-addresses.ts';
import { sdkProductOf } from '../observability/sdk-product.ts';
import { auditFailedAuthentication, refuseExhausted } from './audit-refusals.ts';
import type { Principal } from './find-tokens.ts';
import { findPrincipal, lookUpToken, type TokenLookup } from './look-up-token.ts';
import {
  type BucketState,
  type Counter,
  charge,
  ipCounter,
  peek,
  setRateLimitHeaders,
  stateOf,
  tokenCounter,
} from './rate-limit.ts';
import { routeMetadata } from './request-context.ts';

/** Finds a request's token and counts the request against rate limits. Throws unauthorized or rate_limited errors. */
export async function authenticate(
  server: ServerDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  options: Pick<TokenLookup, 'bucket' | 'idempotency' | 'acceptsOauth'>,
): Promise<Principal> {
  const { audit, clock, config, database } = server;
  const { bucket, idempotency } = options;
  const now = clock.now();
  const { authorization } = request.headers;
  const ip = ipCounter(request.ip, config, now);
  const found = await lookUpToken(database, { ...options, authorization, ip, address: request.ip, config, now });
  const { failure, principal } = found;
  refuseExhausted(audit, request, reply, found.ip, principal);
  if (failure) auditFailedAuthentication(audit, request, failure);
  if (!principal) throw new DomainError('unauthorized');
  // The function `authorize` later refuses a request from a network that is not allowed. Until then, the server must
  // not change or show any data of the token.
  if (!principal.isNetworkAllowed) return principal;

  if (found.bucket) refuseExhausted(audit, request, reply, found.bucket, principal);
  setRateLimitHeaders(reply, found.bucket ?? (await readBucket(server, bucket, principal, now)));
  request.bucketState = found.bucket;
  request.idempotency = idempotency ?? null;
  request.storedAnswer = found.storedAnswer;
  if (found.storedAnswer && bucket) request.sparedCounter = tokenCounter(bucket, principal, config, now);
  noteUse(database, request, principal, now).catch(error => {
    request.log.warn({ err: error }, 'could not store the last use of a token');
  });
  return principal;
}

/**
 * Finds the token of a request again, without counting the request. Throws `unauthorized` if the token has become
 * invalid.
 */
export async function authenticateAgain(
  { clock, config, database }: ServerDependencies,
  request: FastifyRequest,
): Promise<Principal> {
  const { authorization } = request.headers;
  const acceptsOauth = routeMetadata(request)?.auth === 'tools';
  const given = { authorization, acceptsOauth, address: request.ip, config, now: clock.now() };
  const principal = await findPrincipal(database, given);
  if (!principal) throw new DomainError('unauthorized');
  return principal;
}

const touchToken = query(
  'touch_token',
  (
    db,
    $: Arguments<{
      accountId: number;
      tokenId: number;
      now: Date;
      due: Date;
      network: string | null;
      client: string | null;
    }>,
  ) =>
    db
      .updateTable('api_tokens')
      .set({
        last_used_at: $.now,
        last_used_network: fragment<string | null>`${$.network}::cidr`,
        last_used_client: $.client,
      })
      .where('account_id', '=', $.accountId)
      .where('id', '=', $.tokenId)
      .where(token => token.or([token('last_used_at', 'is', null), token('last_used_at', '<', $.due)])),
);

const touchIntervalMs = 60_000;

/** Records the time, the network and the SDK of a token's last use, at most once a minute. */
async function noteUse(
  database: Queryable,
  { ip, headers }: FastifyRequest,
  principal: Principal,
  now: Date,
): Promise<void> {
  const due = new Date(now.getTime() - touchIntervalMs);
  if (principal.lastUsedAt !== null && new Date(principal.lastUsedAt) >= due) return;
  await database.query(touchToken, {
    accountId: principal.account.id,
    tokenId: principal.tokenId,
    now,
    due,
    // The network is null for a connection that is already closed, because Fastify then has no IP address.
    network: maskedNetworkOf(ip ?? ''),
    client: sdkProductOf(headers['user-agent']) ?? null,
  });
}

/**
 * Counts a request without a token against the rate limit of its IP address. While the database is unavailable, the
 * server admits a limited number of requests without counting them. Further requests get HTTP status 503.
 */
export async function chargeAddress(
  server: ServerDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { mayPassUncharged = false } = {},
) {
  const now = server.clock.now();
  const counter = ipCounter(request.ip, server.config, now);
  const timeoutMs = mayPassUncharged ? chargeTimeoutMs.probe : chargeTimeoutMs.request;
  const state = await chargeIfPossible(server, counter, now, timeoutMs);
  if (state) refuseExhausted(server.audit, request, reply, state);
  else if (!mayPassUncharged) passUncharged(server, counter);
}

/** The time limit for counting a request. GET /ready must answer within two seconds, including this time. */
const chargeTimeoutMs = { probe: 500, request: 2_000 };

async function chargeIfPossible(server: ServerDependencies, counter: Counter, now: Date, timeoutMs: number) {
  const charged = charge(server.database, counter, now).catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) server.logger.error({ err: error }, 'a rate limit could not be charged');
    return undefined;
  });
  return inTimeOr(charged, timeoutMs, undefined);
}

async function readBucket(
  server: ServerDependencies,
  bucket: Bucket = 'apitoken:read',
  principal: Principal,
  now: Date,
): Promise<BucketState> {
  const counter = tokenCounter(bucket, principal, server.config, now);
  const [state] = await peek(server.database, [counter], now);
  return state ?? stateOf(counter, 0, now);
}

interface Passed {
  windowStartedAt: number;
  count: number;
}

const passedBy = new WeakMap<ServerDependencies, Passed>();

/**
 * Admits a request that the server could not count against the rate limit. In each time window, all IP addresses
 * together may send as many uncounted requests as one IP address may usually send. So nobody can avoid the limit while
 * the database is slow.
 */
function passUncharged(server: ServerDependencies, { windowStartedAt, limit }: Counter) {
  const startedAt = windowStartedAt.getTime();
  let passed = passedBy.get(server);
  if (passed?.windowStartedAt !== startedAt) {
    passed = { windowStartedAt: startedAt, count: 0 };
    passedBy.set(server, passed);
  }
  if (passed.count >= limit) throw new DomainError('service_unavailable');
  passed.count++;
}
