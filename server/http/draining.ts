import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';

declare module 'fastify' {
  interface FastifyInstance {
    /**
     * Whether the server is about to stop. During this time, /ready answers 503, and the server closes each connection
     * after its answer.
     */
    isDraining: boolean;
  }
}

/**
 * How long a stopping server waits for the headers of requests. After this time, the server closes each connection that
 * has no open request.
 */
const arrivalMs = 1_000;
const sweepIntervalMs = 100;

/**
 * Lets the server stop without losing a request and without waiting for idle connections. When the stop begins, Node
 * itself closes only the connections that are idle at this moment. Node would wait until the other clients disconnect,
 * even if a connection has received no request or only half of a request.
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
    // Closes the connection together with its last answer. Otherwise a client could send another request on the
    // connection, and the stopping server would lose it.
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
