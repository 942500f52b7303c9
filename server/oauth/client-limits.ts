import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Context } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { refuseExhausted } from '../http/audit-refusals.ts';
import { charge, networkOf, openCounter } from '../http/rate-limit.ts';
import { callOf } from './call-provider.ts';

/*
 * Limits how many clients and requests a network can make this server store, and how many documents it can make it fetch.
 * The general limit of an IP address is for requests that leave nothing behind.
 */

const hour = 60 * 60;

/** The number of authorization requests per allowed registration. People connect a client again and again. */
const requestsPerClient = 10;

export function chargeRegistrations(server: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply) =>
    chargeNetwork(server, request, reply, 'oauth-client:ip', server.config.RATE_LIMIT_OAUTH_CLIENT);
}

/** The provider calls this before it fetches the metadata document of a client, unless the document is cached. */
export function chargeFetches(server: ServerDependencies) {
  return async (ctx: Context | undefined): Promise<boolean> => {
    // The consent page looks up a client again without a context. Its document was fetched for the request.
    if (!ctx) return true;
    const { request, reply } = callOf(ctx.req);
    await chargeNetwork(server, request, reply, 'oauth-client:ip', server.config.RATE_LIMIT_OAUTH_CLIENT);
    return true;
  };
}

/** The hook of the authorization endpoint. Each request is stored until it is answered. */
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
