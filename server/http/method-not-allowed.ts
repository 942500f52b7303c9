import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import Router from 'find-my-way';
import { DomainError } from '../domain/domain-error.ts';

declare module 'fastify' {
  interface FastifyInstance {
    /** Finds the Allow header of a path, for methods that Fastify does not route, such as those of WebDAV. */
    allowOf(path: string): string | undefined;
    /** The paths, each under the method GET, with its Allow header. */
    knownPaths: Router.Instance<Router.HTTPVersion.V1>;
  }
}

/**
 * Prepares an app for refuseOtherMethods. Routes for all of Node's methods would double the time in which the server is
 * built, so the paths also go into a router of their own.
 */
export function knowPaths(app: FastifyInstance) {
  const router = Router();
  app.decorate('knownPaths', router);
  app.decorate('allowOf', path => router.find('GET', path)?.store as string | undefined);
}

/** Answers 405 with Allow on every registered path for the methods that it does not have. Call it after the routes. */
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
    // Before the body is read: what is wrong with it does not matter any more.
    app.route({ method: others, url, config: { allow }, onRequest: refuse, handler: refuse });
  }
}

/** Notes the paths as routes are registered. */
export function collectPaths(app: FastifyInstance): ReadonlySet<string> {
  const paths = new Set<string>();
  app.addHook('onRoute', ({ url, routePath, prefix, config }) => {
    if (config?.allow !== undefined) return;
    paths.add(url);
    // The root of a part of the server may be there with a slash, too, and is told of once.
    if (prefix !== '' && routePath === '') paths.add(`${url}/`);
  });
  return paths;
}

type ErrorHandler = (error: unknown, request: FastifyRequest, reply: FastifyReply) => unknown;
type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/**
 * Answers a path for which Fastify can look up no route: broken percent-encoding, a parameter that is too long. Fastify
 * runs no hooks then, so those for every request run here, and the one that records answers.
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
