import type { FastifyRequest } from 'fastify';
import type { ErrorKey } from '../../contract/errors.ts';
import type { Route, RouteMetadata } from '../../contract/routes.ts';
import type { Actor } from '../domain/operation.ts';
import type { Principal } from './identify-tokens.ts';
import type { Charges, StoredAnswer } from './look-up-token.ts';
import type { BucketState, Counter } from './rate-limit.ts';

/** Who sends an admitted request. For a route of a board: as which actor. */
export interface Admission {
  principal: Principal;
  actor: Actor | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks and for which board; there once an authenticated route has admitted the request. */
    admission: Admission | null;
    /** What the request was charged for, for the headers of its answer. */
    bucketState: BucketState | null;
    /** The key under which the request is done once, and the path to which it belongs. */
    idempotency: Charges['idempotency'] | null;
    /** The answer to an earlier request with the same Idempotency-Key. */
    storedAnswer: StoredAnswer | null;
    /** The counter that was not charged because of that answer. */
    sparedCounter: Counter | null;
    /** The tool that the request called. */
    toolName: string | null;
    /** The key with which the request was refused. */
    errorKey: ErrorKey | null;
  }
  interface FastifyContextConfig {
    tsRestRoute?: Route;
    /** Set on the routes that answer 405. */
    allow?: string;
    /** Set on pages that are the same for everybody, which caches may keep for a moment. */
    isPublicPage?: boolean;
  }
}

/** What the contract says of the route that a request reached; undefined for a route outside the contract. */
export function routeMetadata(request: FastifyRequest): RouteMetadata | undefined {
  return request.routeOptions.config.tsRestRoute?.metadata as RouteMetadata | undefined;
}

export function admissionOf(request: FastifyRequest): Admission {
  if (!request.admission) throw new Error('The route is not authenticated');
  return request.admission;
}

/** The path that was asked for, without its query. */
export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? request.url;
}
