import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Router from 'find-my-way';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Returns the Allow header of a path, which lists the HTTP methods that have a route. Returns undefined if the path
     * has no route.
     */
    allowOf(path: string): string | undefined;
  }
}

/**
 * Collects the HTTP methods of each path, so that the server can answer an unsupported method with 405 and an Allow
 * header. Call this function before any route exists.
 *
 * A second router finds the path of a request. The first request with an unsupported method builds this router. The
 * alternative is to add routes to Fastify's own router that refuse the other methods. Such routes would use 40 percent
 * of the time that it takes to build the server.
 *
 * @param hidden - Paths whose unsupported methods get 404, as a missing path does.
 */
export function collectMethods(app: FastifyInstance, hidden: RegExp) {
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ method, url, routePath, prefix }) => {
    if (hidden.test(url)) return;
    // For the root of a prefix, Fastify routes the path with and without a final slash, but calls this hook for only
    // one of them.
    for (const path of prefix !== '' && routePath === '' ? [url, `${url}/`] : [url]) {
      methods.set(path, new Set([...(methods.get(path) ?? []), ...[method].flat()]));
    }
  });
  let router: Router.Instance<Router.HTTPVersion.V1> | undefined;
  app.decorate('allowOf', path => {
    router ??= routerOf(methods);
    return router.find('GET', path)?.store as string | undefined;
  });
}

function routerOf(methods: ReadonlyMap<string, ReadonlySet<string>>) {
  const router = Router();
  for (const [path, own] of methods) router.on('GET', path, () => {}, [...own].sort().join(', '));
  return router;
}

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown;
type Step = (request: FastifyRequest, reply: FastifyReply) => unknown;

/**
 * Answers requests whose path Fastify cannot route, because the path has invalid percent-encoding or a parameter that
 * is too long. Fastify runs no hooks for such a request, so this function runs the steps
 * of the hooks.
 */
export function answerUnroutable(answerError: ErrorHandler, steps: Step[], record: Step) {
  return async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
    let refusal = error;
    try {
      for (const step of steps) await step(request, reply);
    } catch (earlier) {
      refusal = earlier;
    }
    answerError(refusal, request, reply);
    record(request, reply);
  };
}
