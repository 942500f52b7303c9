import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PathId } from '../../../contract/identifiers.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { openPublicBoard } from '../../domain/boards/read-board.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { sendPage } from '../shell/page.ts';
import { sendXml } from '../shell/xml.ts';
import { showBoard } from './board-page.ts';
import { showFeed } from './feed.ts';
import { showIdea } from './idea-page.ts';
import { boardPath } from './present-idea.ts';
import { showRoadmap } from './roadmap-page.ts';

/**
 * Serves the pages of public boards, which everybody may read. They use no session and no cookie, so caches may store
 * them. A private board gets the same 404 as a missing board.
 */
export function servePublicBoards({ database, config }: Pick<ServerDependencies, 'database' | 'config'>) {
  const open = async (request: FastifyRequest<{ Params: { slug: string } }>) => {
    const op = await openPublicBoard(database, request.params.slug);
    request.wayOut = wayToBoard(request.params.slug);
    return op;
  };

  return async (app: FastifyInstance) => {
    app.get<{ Params: { slug: string } }>('/b/:slug', { config: { isPublicPage: true } }, async (request, reply) => {
      const op = await open(request);
      return sendPage(reply, await showBoard(op, config, request.query));
    });

    app.get<{ Params: { slug: string } }>(
      '/b/:slug/roadmap',
      { config: { isPublicPage: true } },
      async (request, reply) => {
        const op = await open(request);
        return sendPage(reply, await showRoadmap(op, config));
      },
    );

    app.get<{ Params: { slug: string } }>(
      '/b/:slug/feed.atom',
      { config: { isPublicPage: true } },
      async (request, reply) => {
        const op = await open(request);
        return sendXml(reply, 'application/atom+xml', await showFeed(op, config));
      },
    );

    app.get<{ Params: { slug: string; id: string } }>(
      '/b/:slug/ideas/:id',
      { config: { isPublicPage: true } },
      async (request, reply) => {
        const op = await open(request);
        const id = PathId.safeParse(request.params.id);
        if (!id.success) throw new DomainError('not_found');
        return sendPage(reply, await showIdea(op, config, id.data, request.query));
      },
    );
  };
}

/** The way out for a missing page of a public board, such as an idea that awaits approval. */
function wayToBoard(slug: string) {
  return {
    explanation:
      'This board has no such page. The idea may be deleted, hidden or not yet approved, or the link may be incomplete.',
    link: { label: 'All ideas of the board', href: boardPath(slug) },
  };
}
