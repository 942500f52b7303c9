import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { DomainError } from '../domain/domain-error.ts';
import { auditLimit } from '../http/audit-refusals.ts';
import { charge, isExhausted, networkOf, openCounter, setRateLimitHeaders } from '../http/rate-limit.ts';
import { exchangeOf } from './exchange.ts';

/*
 * What strangers can make this server keep, or fetch for them, is bounded for each network: beside the limit of all
 * requests, which is for what leaves nothing behind.
 */

const hour = 60 * 60;

/** So often a client may ask for consent for each time that one registers: it is what people do again and again. */
const requestsPerClient = 10;

/** The hook of the route that registers clients. */
export function chargeRegistrations(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply) =>
    chargeNetwork(server, request, reply, 'oauth-client:ip', server.config.RATE_LIMIT_OAUTH_CLIENT);
}

/** Asked before a client's document is fetched, and not where it is known from before. */
export function chargeFetches(server: ServerDependencies) {
  return async (ctx: Context | undefined): Promise<boolean> => {
    // The page of consent looks the client up again, whose document was fetched for the request.
    if (!ctx) return true;
    const { request, reply } = exchangeOf(ctx.req);
    await chargeNetwork(server, request, reply, 'oauth-client:ip', server.config.RATE_LIMIT_OAUTH_CLIENT);
    return true;
  };
}

/** The hook of the route where clients ask for consent: each request is kept until it is answered. */
export function chargeAuthorizations(server: ServerDependencies) {
  const limit = server.config.RATE_LIMIT_OAUTH_CLIENT * requestsPerClient;
  return async (request: FastifyRequest, reply: FastifyReply) =>
    chargeNetwork(server, request, reply, 'oauth-authorization:ip', limit);
}

async function chargeNetwork(
  { audit, clock, database }: ServerDependencies,
  request: FastifyRequest,
  reply: FastifyReply,
  bucket: string,
  limit: number,
) {
  const now = clock.now();
  const counter = openCounter(bucket, `${bucket}:${networkOf(request.ip)}`, limit, hour, now);
  const state = await charge(database, counter, now);
  if (!isExhausted(state)) return;
  auditLimit(audit, request, state);
  setRateLimitHeaders(reply, state);
  throw new DomainError('rate_limited');
}
