import type { FastifyInstance } from 'fastify';
import { definePage, sendPage } from '../shell/page.ts';

const entrancePage = definePage<object>('pages/entrance/entrance');

/**
 * Serves the start page at /. It lists no boards: a public board is for people who have its address. A program, which
 * does not accept HTML, gets the same 404 as on any other unknown path.
 */
export async function serveEntrance(app: FastifyInstance) {
  app.get('/', async (request, reply) => {
    reply.header('Vary', 'Accept');
    if (!request.headers.accept?.includes('text/html')) return reply.callNotFound();
    return sendPage(reply, entrancePage({ title: 'Welcome' }, {}));
  });
}
