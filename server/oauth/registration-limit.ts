import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { auditLimit } from '../http/audit-refusals.ts';
import { charge, isExhausted, networkOf, openCounter, setRateLimitHeaders } from '../http/rate-limit.ts';
import { requestOf } from './exchange.ts';

const hour = 60 * 60;

/**
 * Bounds how many clients one network makes this server learn of: each is a row that strangers can make, or a document that
 * it fetches for them.
 */
function limitOf({ audit, clock, config, database }: ServerDependencies) {
  return async (request: FastifyRequest, reply?: FastifyReply) => {
    const now = clock.now();
    const key = `oauth-client:ip:${networkOf(request.ip)}`;
    const counter = openCounter('oauth-client:ip', key, config.RATE_LIMIT_OAUTH_CLIENT, hour, now);
    const state = await charge(database, counter, now);
    if (!isExhausted(state)) return;
    auditLimit(audit, request, state);
    if (reply) setRateLimitHeaders(reply, state);
    throw new DomainError('rate_limited');
  };
}

/** The hook of the route that registers clients. */
export function chargeRegistrations(server: ServerDependencies) {
  const charge = limitOf(server);
  return async (request: FastifyRequest, reply: FastifyReply) => charge(request, reply);
}

/** Asked before a client's document is fetched, and not where it is known from before. */
export function chargeFetches(server: ServerDependencies) {
  const charge = limitOf(server);
  return async (ctx: Context | undefined): Promise<boolean> => {
    // The page of consent looks the client up again, whose document was fetched for the request.
    if (ctx) await charge(requestOf(ctx.req));
    return true;
  };
}
