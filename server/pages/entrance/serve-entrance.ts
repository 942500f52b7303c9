import type { FastifyInstance } from 'fastify';
import { definePage, sendPage } from '../shell/page.ts';

const entrancePage = definePage<object>('pages/entrance/entrance');

/**
 * Serves the page at /, which leads people on. It lists no boards: a public board is for people who have its address. A
 * program, which asks for no HTML, gets the same 404 as on any other path that the API does not have.
 */
export async function serveEntrance(app: FastifyInstance) {
  app.get('/', async (request, reply) => {
    reply.header('Vary', 'Accept');
    if (!request.headers.accept?.includes('text/html')) return reply.callNotFound();
    return sendPage(reply, entrancePage({ title: 'Welcome' }, {}));
  });
}
