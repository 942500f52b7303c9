import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Router from 'find-my-way';
import { DomainError } from '../domain/domain-error.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Returns the Allow header for a path, for HTTP methods that Fastify does not route, such as those of WebDAV. */
    allowOf(path: string): string | undefined;
    /** A router that knows the path and the Allow header of each route. All paths are registered for GET only. */
    knownPaths: Router.Instance<Router.HTTPVersion.V1>;
  }
}

/**
 * Prepares an app for refuseOtherMethods: a second router collects the paths. Routes for all of Node's HTTP methods in
 * Fastify's own router would double the time to build the server.
 */
export function knowPaths(app: FastifyInstance) {
  const router = Router();
  app.decorate('knownPaths', router);
  app.decorate('allowOf', path => router.find('GET', path)?.store as string | undefined);
}

/** Makes every path answer 405 with an Allow header to unsupported methods. Call this after all other routes exist. */
export function refuseOtherMethods(app: FastifyInstance, paths: ReadonlySet<string>) {
  const methods = app.supportedMethods;
  for (const url of paths) {
    const allowed = methods.filter(method => app.hasRoute({ method, url }));
    const others = methods.filter(method => !allowed.includes(method));
    if (allowed.length === 0 || others.length === 0) continue;
    const allow = allowed.join(', ');
    app.knownPaths.on('GET', url, () => {}, allow);
    const refuse = async (_request: FastifyRequest, reply: FastifyReply) => {
      reply.header('Allow', allow);
      throw new DomainError('method_not_allowed');
    };
    // The hook runs before the body is read, so that even a request with an invalid body gets 405.
    app.route({ method: others, url, config: { allow }, onRequest: refuse, handler: refuse });
  }
}

export function collectPaths(app: FastifyInstance): ReadonlySet<string> {
  const paths = new Set<string>();
  app.addHook('onRoute', ({ url, routePath, prefix, config }) => {
    if (config?.allow !== undefined) return;
    paths.add(url);
    // Registers the root of a prefix with and without a final slash. Fastify routes both, but calls this hook for only
    // one of them.
    if (prefix !== '' && routePath === '') paths.add(`${url}/`);
  });
  return paths;
}

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown;
type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Answers requests whose path Fastify cannot route, because its percent-encoding is broken or a parameter is too long.
 * Fastify runs no hooks for such a request, so this function runs the hooks.
 */
export function answerUnroutable(answerError: ErrorHandler, hooks: Hook[], record: Hook) {
  return async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    let refusal = error;
    try {
      for (const hook of hooks) await hook(request, reply);
    } catch (earlier) {
      refusal = earlier;
    }
    answerError(refusal, request, reply);
    await record(request, reply);
  };
}
