import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /** The server is about to stop: /ready answers 503, and answers close their connections. */
    isDraining: boolean;
  }
}

/** A request that has not arrived completely by then is dropped. */
const arrivalMs = 1_000;
const sweepIntervalMs = 100;

/**
 * Lets the server stop without dropping a request and without waiting for idle connections. On close, Node ends only the
 * connections that are idle at that moment. It waits for the clients of the others to disconnect, and for connections on
 * which nothing or half a request has arrived.
 */
export function drainConnections(app: FastifyInstance) {
  const openRequests = new Map<Socket, number>();
  app.server.on('connection', (socket: Socket) => {
    openRequests.set(socket, 0);
    socket.once('close', () => openRequests.delete(socket));
  });
  app.server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    openRequests.set(socket, (openRequests.get(socket) ?? 0) + 1);
    response.once('close', () => {
      const open = openRequests.get(socket);
      if (open !== undefined) openRequests.set(socket, open - 1);
    });
  });

  app.decorate('isDraining', false);
  app.addHook('onSend', (request, reply, payload, done) => {
    // The last answer closes its connection, so that the client sends no further request, which could be lost.
    const isLast = app.isDraining && (openRequests.get(request.raw.socket) ?? 1) <= 1;
    if (isLast) reply.header('Connection', 'close');
    done(null, payload);
  });
  let sweep: NodeJS.Timeout | undefined;
  app.addHook('preClose', async () => {
    app.isDraining = true;
    const closingAt = performance.now();
    sweep = setInterval(() => {
      if (performance.now() - closingAt < arrivalMs) return;
      for (const [socket, open] of openRequests) if (open === 0) socket.destroySoon();
    }, sweepIntervalMs);
  });
  app.addHook('onClose', async () => clearInterval(sweep));
}
