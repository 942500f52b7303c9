import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { refuseExhausted } from '../http/audit-refusals.ts';
import { charge, networkOf, openCounter } from '../http/rate-limit.ts';
import { callOf } from './call-provider.ts';

/*
 * Limits for each network (an IPv4 address or an IPv6 prefix). They limit the clients that a network registers, its
 * stored authorization requests, and the metadata documents that the server fetches for the network. The general rate
 * limit of an IP address is too high for requests that the server must store.
 */

const hour = 60 * 60;

/**
 * The limit of authorization requests is this many times the limit of registrations, because people connect the same
 * client many times.
 */
const requestsPerClient = 10;

export function chargeRegistrations(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply) =>
    chargeNetwork(server, request, reply, 'oauth-client:ip', server.config.RATE_LIMIT_OAUTH_CLIENT);
}

/**
 * Returns a function that counts the fetches of clients' metadata documents. oidc-provider calls the function before it
 * fetches a document that is not cached.
 */
export function chargeFetches(server: ServerDependencies) {
  return async (ctx: Context | undefined): Promise<boolean> => {
    // If `ctx` is undefined, oidc-provider fetches the document for the consent page. This fetch does not count,
    // because the server has already counted the fetch for the authorization request.
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
