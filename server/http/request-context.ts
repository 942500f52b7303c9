import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ErrorKey } from '../../contract/errors.ts';
import type { Route, RouteMetadata } from '../../contract/routes.ts';
import type { Actor } from '../domain/operation.ts';
import type { Span } from '../observability/active-span.ts';
import type { Principal } from './find-tokens.ts';
import type { Idempotency, StoredAnswer } from './look-up-token.ts';
import type { BucketState, Counter } from './rate-limit.ts';

/**
 * The token of an authorized request, and the user who acts on the board. `actor` is null if the request is not for a
 * board.
 */
export interface Admission {
  principal: Principal;
  actor: Actor | null;
  /**
   * Authenticates and authorizes the request again, without counting it against a rate limit. The server calls this
   * function for requests that have waited for events.
   */
  renew(): Promise<Admission>;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The result of authentication and authorization. Null until authentication and authorization have succeeded. */
    admission: Admission | null;
    bucketState: BucketState | null;
    idempotency: Idempotency | null;
    /** The answer to an earlier request with the same Idempotency-Key. */
    storedAnswer: StoredAnswer | null;
    /** The rate limit counter that did not count the request, because its Idempotency-Key has a stored answer. */
    sparedCounter: Counter | null;
    toolName: string | null;
    /** The span of the request. Null if tracing is off. */
    span: Span | null;
    /** Whether the answer is for one signed-in person, so that caches must not store it. */
    isPersonal: boolean;
    /** The key of the error in the answer. Null if the answer is no error. */
    errorKey: ErrorKey | null;
    /**
     * Whether the client was still sending the body when the server checked who sends the request. The server then checks
     * this again after the body.
     */
    isBodyLate: boolean;
  }
  interface FastifyContextConfig {
    tsRestRoute?: Route;
    /**
     * Whether all visitors without a session get the same page in their language. Caches may store this page for some
     * seconds.
     */
    isPublicPage?: boolean;
  }
}

/** Returns the contract's metadata for the route of a request, or undefined for a route outside the contract. */
export function routeMetadata(request: FastifyRequest): RouteMetadata | undefined {
  return request.routeOptions.config.tsRestRoute?.metadata as RouteMetadata | undefined;
}

export function admissionOf(request: FastifyRequest): Admission {
  if (!request.admission) throw new Error('The route is not authenticated');
  return request.admission;
}

export function actorOf(request: FastifyRequest): Actor {
  const { actor } = admissionOf(request);
  if (!actor) throw new Error('The route is not for a board');
  return actor;
}

/**
 * Checks whether a request that has waited is still allowed, and updates the actor of the request. Throws an error if
 * the request is not allowed any more.
 */
export async function readmit(request: FastifyRequest): Promise<void> {
  request.admission = await admissionOf(request).renew();
}

/** A preParsing hook that notes whether the body of the request is late. */
export function noteLateBody(request: FastifyRequest, _reply: FastifyReply, _body: unknown, done: () => void) {
  request.isBodyLate = !request.raw.complete;
  done();
}

/**
 * A preHandler hook that checks a token again if the body was late. Otherwise a revoked token could finish a request that
 * it began before.
 */
export function readmitLate(request: FastifyRequest, _reply: FastifyReply, done: (error?: Error) => void) {
  if (!request.isBodyLate || !request.admission) return done();
  readmit(request).then(() => done(), done);
}

export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? request.url;
}
