import type { FastifyRequest } from 'fastify';
import type { ErrorKey } from '../../contract/errors.ts';
import type { Route, RouteMetadata } from '../../contract/routes.ts';
import type { Actor } from '../domain/operation.ts';
import type { Principal } from './find-tokens.ts';
import type { Idempotency, StoredAnswer } from './look-up-token.ts';
import type { BucketState, Counter } from './rate-limit.ts';

/** The token of an admitted request. The actor is null for a route without a board. */
export interface Admission {
  principal: Principal;
  actor: Actor | null;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until an authenticated route has admitted the request. */
    admission: Admission | null;
    bucketState: BucketState | null;
    idempotency: Idempotency | null;
    /** The answer to an earlier request with the same Idempotency-Key. */
    storedAnswer: StoredAnswer | null;
    /** The counter that was not charged because of the stored answer. */
    sparedCounter: Counter | null;
    toolName: string | null;
    /** The key of the error that the client gets. */
    errorKey: ErrorKey | null;
  }
  interface FastifyContextConfig {
    tsRestRoute?: Route;
    /** The Allow header of a route that answers 405. */
    allow?: string;
    /** Set on pages that are the same for everybody, which caches may keep for some seconds. */
    isPublicPage?: boolean;
  }
}

/** The contract's metadata of the request's route. Undefined for a route outside the contract. */
export function routeMetadata(request: FastifyRequest): RouteMetadata | undefined {
  return request.routeOptions.config.tsRestRoute?.metadata as RouteMetadata | undefined;
}

export function admissionOf(request: FastifyRequest): Admission {
  if (!request.admission) throw new Error('The route is not authenticated');
  return request.admission;
}

export function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? request.url;
}
