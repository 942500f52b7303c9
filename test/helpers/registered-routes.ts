import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';

/** Starts a server, and answers the routes that are registered meanwhile. */
export async function collectRoutes<T>(start: () => Promise<T>): Promise<{ started: T; routes: RouteOptions[] }> {
  const routes: RouteOptions[] = [];
  // Fastify tells of every instance before its first route, so that what is registered is seen as it happens.
  const collect = (message: unknown) => {
    const { fastify } = message as { fastify: FastifyInstance };
    fastify.addHook('onRoute', route => {
      routes.push(route);
    });
  };
  subscribe('fastify.initialization', collect);
  try {
    return { started: await start(), routes };
  } finally {
    unsubscribe('fastify.initialization', collect);
  }
}
