import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { FastifyInstance, RouteOptions } from 'fastify';

/** Starts a server and returns the routes that it registers. */
export async function collectRoutes<T>(start: () => Promise<T>): Promise<{ started: T; routes: RouteOptions[] }> {
  const routes: RouteOptions[] = [];
  // Fastify publishes each instance before its first route, so that the hook sees all routes.
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
