import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';

/** Starts a server by calling `start`. Returns the result of `start`, and the routes that the server has registered. */
export async function collectRoutes<T>(start: () => Promise<T>): Promise<{ started: T; routes: RouteOptions[] }> {
  const routes: RouteOptions[] = [];
  // Fastify publishes each of its instances on this diagnostics channel, before it registers the first route of the
  // instance. So the function sees all routes.
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
