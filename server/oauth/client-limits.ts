import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { refuseExhausted } from '../http/audit-refusals.ts';
import { charge, networkOf, openCounter } from '../http/rate-limit.ts';
import { callOf } from './call-provider.ts';

/*
 * Limits for each network (an IPv4 address or an IPv6 prefix). They limit a network's registered clients, its stored
 * authorization requests, and the documents that this server fetches for it. The general rate limit of an IP address is
 * too high for requests that the server must store.
 */

const hour = 60 * 60;

/** The number of authorization requests for each allowed registration. People connect the same client many times. */
const requestsPerClient = 10;

export function chargeRegistrations(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply) =>
    chargeNetwork(server, request, reply, 'oauth-client:ip', server.config.RATE_LIMIT_OAUTH_CLIENT);
}

/**
 * Returns a function that counts a fetch of a client's metadata document. oidc-provider calls this function before it
 * fetches the document, unless the document is cached.
 */
export function chargeFetches(server: ServerDependencies) {
  return async (ctx: Context | undefined): Promise<boolean> => {
    // Does not count the fetch for the consent page, which looks up the client again. The server has already counted
    // the fetch for the authorization request.
    if (!ctx) return true;
    const { request, reply } = callOf(ctx.req);
    await chargeNetwork(server, request, reply, 'oauth-client:ip', server.config.RATE_LIMIT_OAUTH_CLIENT);
    return true;
  };
}

/** The hook that counts authorization requests, because each request is stored until it is answered. */
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
  refuseExhausted(audit, request, reply, await charge(database, counter, now));
}
