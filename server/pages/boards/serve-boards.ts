import type { FastifyInstance } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { t } from '../../text/catalogue.ts';
import { definePages, type OwnArea, signedIn } from '../shell/area.ts';
import { requireOrdinarySession } from '../shell/session.ts';
import { type Route, serveRoutes } from '../shell/visit.ts';
import { sendXml } from '../shell/xml.ts';
import { showBoard } from './board-page.ts';
import { changeIdeaRoutes } from './change-idea-routes.ts';
import { commentRoutes } from './comment-routes.ts';
import { showFeed } from './feed.ts';
import { showIdea } from './idea-page.ts';
import { joinRoutes } from './join-routes.ts';
import { memberRoutes } from './member-routes.ts';
import {
  type BoardVisit,
  boardOf,
  openBoardArea,
  openBoards,
  pageOfForm,
  requireMember,
  sendToSignIn,
} from './opened-board.ts';
import { ownRoutes } from './own-page.ts';
import { showRoadmap } from './roadmap-page.ts';

export const boardPages = definePages('pages/boards');

const area: OwnArea = {
  pageOf: boardPages,
  frameOf: (request, account, title) => ({
    title,
    ...signedIn(request, account),
  }),
  home: { label: 'shell.home.start', href: '/' },
  wayBack: request => ({ label: t('shell.labels.back'), href: pageOfForm(request) }),
};

/** The pages of boards that other websites can also show in a frame. */
export const boardRoutes: Record<'forEverybody' | 'forMembers', Route<AccountOfUser | undefined>[]> = {
  forEverybody: [
    { path: '/b/:slug', isPublicPage: true, show: showBoard },
    { path: '/b/:slug/roadmap', isPublicPage: true, show: showRoadmap },
    { path: '/b/:slug/ideas/:id', isPublicPage: true, show: showIdea },
  ],
  forMembers: [...memberRoutes, ...changeIdeaRoutes, ...commentRoutes, ...ownRoutes],
};

/**
 * Serves the pages of boards. Everybody may read public boards. Members of a board's account may also read its private
 * boards, and submit ideas, vote and comment. A private board gets the same 404 as a missing board.
 */
export function serveBoards(server: ServerDependencies) {
  return async (app: FastifyInstance) => {
    await openBoardArea(app, server, area);
    const open = openBoards(server);
    const accountOf = (request: BoardVisit['request']) => boardOf(request).account;
    serveRoutes(app, server, accountOf, boardRoutes.forEverybody, [open]);
    app.get('/b/:slug/feed.atom', { onRequest: [open], config: { isPublicPage: true } }, async (request, reply) => {
      const { board, isPublic, read } = boardOf(request);
      // Only public boards have a feed, because feed readers have no session.
      if (!isPublic) throw new DomainError('not_found');
      return sendXml(reply, 'application/atom+xml', await showFeed(read, board, server.config));
    });
    serveRoutes(app, server, accountOf, joinRoutes(server), [sendToSignIn, requireOrdinarySession, open]);
    serveRoutes(app, server, accountOf, boardRoutes.forMembers, [sendToSignIn, open, requireMember]);
  };
}
