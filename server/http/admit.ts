import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Grant, includesGrant } from '../../contract/grants.ts';
import type { Bucket } from '../../contract/limits.ts';
import type { RouteMetadata } from '../../contract/routes.ts';
import { inTimeOr } from '../database/in-time.ts';
import { isDatabaseUnavailable } from '../database/unavailable.ts';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { Actor } from '../domain/operation.ts';
import type { Role } from '../entities/membership.ts';
import { auditFailedAuthentication, auditLimit, auditRefusedGrant } from './audit-refusals.ts';
import { type Charges, identify, noteUse, type Principal, requirePrincipal } from './authenticate.ts';
import { type GrantedBoard, resolveBoard } from './board-resolution.ts';
import {
  type BucketState,
  type Counter,
  charge,
  ipCounter,
  isExhausted,
  peek,
  setRateLimitHeaders,
  stateOf,
  tokenCounter,
} from './rate-limit.ts';
import { pathOf, routeMetadata } from './request-context.ts';
import { passUncharged } from './uncharged.ts';

/** A request that may go on: who asks, and for a route of a board, as whom and at which level. */
export interface Admission {
  principal: Principal;
  actor: Actor | null;
}

/**
 * The hook that lets a request in before its body is read. Which refusal wins, first to last: the per-IP limit, the
 * token (401), its bucket (429), the plan (403), the board (400, 403), the grant (403), the issuer (403).
 */
export function admitRequests(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const metadata = routeMetadata(request);
    if (metadata?.auth === 'none' && !metadata.isLimitedPerIp) return;
    // What is called is in the body: the endpoint of the tools lets it in itself.
    if (metadata?.auth === 'tools') return;
    if (!metadata) return chargeAddress(server, request, reply);
    // The readiness probe has its own answer for a slow database, and concurrent probes share one check.
    if (metadata.auth === 'none') return chargeAddress(server, request, reply, { mayPassUncharged: true });

    const key = request.headers['idempotency-key'];
    const principal = await identifyCaller(server, request, reply, {
      bucket: metadata.auth === 'board' ? metadata.bucket : undefined,
      idempotency: request.method === 'POST' && typeof key === 'string' ? { path: pathOf(request), key } : undefined,
      acceptsOauth: false,
    });
    admitCaller(server, request, principal, metadata, request.query as Record<string, unknown>);
  };
}

/** What a request is identified and charged for. */
interface Caller {
  /** Undefined: nothing but the limit of the address is charged. */
  bucket: Bucket | undefined;
  idempotency: Charges['idempotency'];
  acceptsOauth: boolean;
}

/** Identifies who sends a request and charges its limits, in one round trip; refuses it with 401 or 429. */
export async function identifyCaller(
  server: ServerDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { bucket, idempotency, acceptsOauth }: Caller,
): Promise<Principal> {
  const now = server.clock.now();
  const identification = await identify(
    server.database,
    { authorization: request.headers.authorization, acceptsOauth },
    { ip: ipCounter(request.ip, server.config, now), bucket, limits: server.config, idempotency },
    now,
  );
  const { failure } = identification;
  if (isExhausted(identification.ip)) {
    auditLimit(server.audit, request, identification.ip, identification.principal);
    refuseForLimit(reply, identification.ip);
  }
  if (failure) auditFailedAuthentication(server.audit, request, failure);
  const principal = requirePrincipal(identification.principal);

  const state = identification.bucket ?? (await lookAtBucket(server, bucket, principal, now));
  if (identification.bucket && isExhausted(state)) {
    auditLimit(server.audit, request, state, principal);
    refuseForLimit(reply, state);
  }
  setRateLimitHeaders(reply, state);
  request.bucketState = identification.bucket;
  request.idempotency = idempotency ?? null;
  request.storedAnswer = identification.storedAnswer;
  if (identification.storedAnswer && bucket) {
    request.sparedCounter = tokenCounter(bucket, principal.tokenId, server.config, now);
  }
  noteUse(server.database, principal, now).catch(error => {
    request.log.warn({ err: error }, 'could not note the use of a token');
  });
  return principal;
}

/** Decides whether a valid token may do what a route is for, by what the request says before it is validated. */
export function admitCaller(
  server: ServerDependencies,
  request: FastifyRequest,
  principal: Principal,
  metadata: RouteMetadata,
  query: Record<string, unknown>,
) {
  try {
    request.admission = admit(server, principal, metadata, query);
  } catch (error) {
    auditRefusedGrant(server.audit, request, principal, error);
    throw error;
  }
}

/**
 * Charges the address of a request without a token. While the counter cannot be reached, a bounded number of requests
 * pass uncharged, and the others get 503.
 */
export async function chargeAddress(
  server: ServerDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  { mayPassUncharged = false } = {},
) {
  const now = server.clock.now();
  const counter = ipCounter(request.ip, server.config, now);
  const state = await chargeIfPossible(server, counter, now);
  if (!state) {
    if (!mayPassUncharged) passUncharged(server, counter);
  } else if (isExhausted(state)) {
    auditLimit(server.audit, request, state);
    refuseForLimit(reply, state);
  }
}

/** The readiness probe answers within two seconds. Its limit may take this part of them. */
const chargeTimeoutMs = 500;

/** Charges a counter; undefined when the database does not do it in time. */
async function chargeIfPossible(server: ServerDependencies, counter: Counter, now: Date) {
  const charged = charge(server.database, counter, now).catch((error: unknown) => {
    if (!isDatabaseUnavailable(error)) server.logger.error({ err: error }, 'a limit could not be charged');
    return undefined;
  });
  return inTimeOr(charged, chargeTimeoutMs, undefined);
}

/** What the headers of a request show that is not charged. */
async function lookAtBucket(
  server: ServerDependencies,
  bucket: Bucket = 'apitoken:read',
  { tokenId }: Principal,
  now: Date,
): Promise<BucketState> {
  const counter = tokenCounter(bucket, tokenId, server.config, now);
  const [state] = await peek(server.database, [counter], now);
  return state ?? stateOf(counter, 0, now);
}

function refuseForLimit(reply: FastifyReply, state: BucketState): never {
  setRateLimitHeaders(reply, state);
  throw new DomainError('rate_limited');
}

function admit(
  server: Pick<ServerDependencies, 'config'>,
  principal: Principal,
  metadata: RouteMetadata,
  query: Record<string, unknown>,
): Admission {
  if (server.config.PLANS_WITHOUT_AGENT_API.includes(principal.account.plan)) {
    throw new DomainError('agent_api_unavailable');
  }
  if (metadata.auth !== 'board') return { principal, actor: null };

  const board = resolveBoard(principal, query.board);
  const needed = neededGrant(metadata, query);
  if (!includesGrant(board.grant, needed)) throw new DomainError('insufficient_scope');
  const isModerator = isModerateEffective(principal, board);
  if (needed === 'moderate' && !isModerator) throw new DomainError('token_issuer_not_moderator');
  if (metadata.bucket === 'apitoken:write' && principal.issuer.isBlocked) throw new DomainError('user_blocked');

  const { account, issuer, tokenId, voterId } = principal;
  return {
    principal,
    actor: { accountId: account.id, boardId: board.id, userId: issuer.id, tokenId, voterId, isModerator },
  };
}

function neededGrant(metadata: RouteMetadata & { auth: 'board' }, query: Record<string, unknown>): Grant {
  let needed = metadata.grant;
  for (const [parameter, grant] of Object.entries(metadata.grantByQuery ?? {})) {
    if (query[parameter] !== undefined && includesGrant(grant, needed)) needed = grant;
  }
  return needed;
}

const moderatingRoles: readonly (Role | null)[] = ['owner', 'admin', 'moderator'];

/** The moderate grant has effect only while the issuer holds a moderating role (Authentication, 3). */
export function isModerateEffective(principal: Principal, board: GrantedBoard): boolean {
  return board.grant === 'moderate' && moderatingRoles.includes(principal.issuer.role);
}
