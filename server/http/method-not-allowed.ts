import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { DomainError } from '../domain/domain-error.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const satisfies HTTPMethods[];

/** Answers 405 with Allow on every registered path for the methods that it does not have. Call it after the routes. */
export function refuseOtherMethods(app: FastifyInstance, registered: ReadonlyMap<string, ReadonlySet<string>>) {
  for (const [url, allowed] of registered) {
    const others = methods.filter(method => !allowed.has(method));
    if (others.length === 0) continue;
    const allow = methods.filter(method => allowed.has(method)).join(', ');
    const refuse = async (_request: FastifyRequest, reply: FastifyReply) => {
      reply.header('Allow', allow);
      throw new DomainError('method_not_allowed');
    };
    // Before the body is read: what is wrong with it does not matter any more.
    app.route({ method: others, url, config: { allow }, onRequest: refuse, handler: refuse });
  }
}

/** Notes the methods of each path as routes are registered. */
export function collectMethods(app: FastifyInstance): ReadonlyMap<string, ReadonlySet<string>> {
  const registered = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method, config }) => {
    if (config?.allow !== undefined) return;
    const known = registered.get(url) ?? new Set<string>();
    for (const one of [method].flat()) known.add(one);
    registered.set(url, known);
  });
  return registered;
}
