import type { FastifyInstance, FastifyRequest } from 'fastify';
import { PathId } from '../../../contract/identifiers.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { openPublicBoard } from '../../domain/boards/read-board.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readStanding } from '../../domain/members/join-account.ts';
import { definePages, openArea, signedIn } from '../shell/area.ts';
import { fieldOf } from '../shell/form.ts';
import { type Frame, sendPage } from '../shell/page.ts';
import { accountAround } from '../shell/session.ts';
import { loadTemplate } from '../shell/template.ts';
import { serveRoutes } from '../shell/visit.ts';
import { signInPath } from '../sign-in/next-path.ts';
import { showBoard } from './board-page.ts';
import { showIdea } from './idea-page.ts';
import { joinRoute, requireSessionToJoin } from './join-route.ts';

const renderSignIn = loadTemplate<{ path: string }>('pages/public-board/sign-in-link');

const area = {
  pageOf: definePages('pages/public-board'),
  frameOf: (request: FastifyRequest, _account: unknown, title: string): Frame => ({ title, ...visitorOf(request) }),
  home: { label: 'Go to the start page', href: '/' },
};

/**
 * Serves the pages of public boards, which everybody may read. For visitors without a session, the pages are the same
 * for everybody, so caches may store them. A private board gets the same 404 as a missing board.
 */
export function servePublicBoards(server: ServerDependencies) {
  const { database, config } = server;

  return async (app: FastifyInstance) => {
    await openArea(app, server, area);
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('Vary', 'Cookie');
    });

    app.get<{ Params: { slug: string } }>('/b/:slug', { config: { isPublicPage: true } }, async (request, reply) => {
      const op = await openPublicBoard(database, request.params.slug);
      return sendPage(reply, await showBoard(op, config, request.query, await readVisitor(request, op.actor)));
    });

    app.get<{ Params: { slug: string; id: string } }>(
      '/b/:slug/ideas/:id',
      { config: { isPublicPage: true } },
      async (request, reply) => {
        const id = PathId.safeParse(request.params.id);
        if (!id.success) throw new DomainError('not_found');
        const op = await openPublicBoard(database, request.params.slug);
        return sendPage(reply, await showIdea(op, config, id.data, request.query, visitorOf(request)));
      },
    );

    serveRoutes(app, server, () => undefined, [joinRoute(server)], [requireSessionToJoin]);
  };

  /** Adds whether a signed-in visitor may join the account of the board. */
  async function readVisitor(request: FastifyRequest, { accountId }: { accountId: number }) {
    const { browserSession, query } = request;
    if (!browserSession) return visitorOf(request);
    const standing = await readStanding(database, { accountId, userId: browserSession.user.id });
    return { ...visitorOf(request), standing, notice: fieldOf(query, 'notice') };
  }
}

/** Returns the end of the page's header: a link to sign in, or the signed-in person. */
function visitorOf(request: FastifyRequest) {
  if (request.browserSession) return signedIn(request, accountAround(request));
  return { actions: renderSignIn({ path: signInPath(request.url) }) };
}
