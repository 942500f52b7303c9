import type { FastifyInstance } from 'fastify';
import { t } from '../../text/catalogue.ts';
import { definePage, sendPage } from '../shell/page.ts';

const entrancePage = definePage<object>('pages/entrance/entrance');

/**
 * Serves the start page at /. The page lists no boards, because most visitors look for one certain board, and search
 * engines use the sitemap. A client whose Accept header does not contain text/html gets 404, as on any unknown path.
 */
export async function serveEntrance(app: FastifyInstance) {
  app.get('/', async (request, reply) => {
    reply.header('Vary', 'Accept');
    if (!request.headers.accept?.includes('text/html')) return reply.callNotFound();
    return sendPage(reply, entrancePage({ title: t('shell.welcome.title') }, {}));
  });
}
