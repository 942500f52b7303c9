import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { readEmbeddingOrigins } from '../../domain/embedding/find-embedding.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { t } from '../../text/catalogue.ts';
import { showBoard } from '../boards/board-page.ts';
import {
  boardOf,
  boardPath,
  embeddedPath,
  openBoardArea,
  openBoards,
  pageOfForm,
  requireMember,
} from '../boards/opened-board.ts';
import { boardPages, boardRoutes } from '../boards/serve-boards.ts';
import type { OwnArea } from '../shell/area.ts';
import { fieldOf } from '../shell/form.ts';
import { sessionOf } from '../shell/session.ts';
import { type Route, serveRoutes } from '../shell/visit.ts';
import { signInPath } from '../sign-in/next-path.ts';
import { connectPath } from '../sign-in/provider-paths.ts';
import { acceptTokens } from './accept-tokens.ts';
import { explainOutcome, outcomePath, problemOf } from './sign-in-outcome.ts';

type BoardRoute = Route<AccountOfUser | undefined>;

const area: OwnArea = {
  pageOf: boardPages,
  frameOf: (request, _account, title) => ({
    title,
    embeddedAt: rootOf(request),
    formToken: request.server.formTokenOf(sessionOf(request).tokenHash),
  }),
  home: { label: 'shell.home.start', href: '/' },
  wayBack: request => ({ label: t('shell.labels.back'), href: pageOfForm(request, rootOf(request)) }),
  sessionCookie: 'embedded',
};

/**
 * Serves the boards in frames of other websites, at /b/<slug>/embed. These pages have their own session, which opens no
 * other page. All other pages refuse to be in a frame. So no website can trick people into clicking in their ordinary
 * session.
 */
export function serveEmbedding(server: ServerDependencies) {
  return async (app: FastifyInstance) => {
    await openBoardArea(app, server, area);
    app.addHook('onRequest', prepare);
    const hooks = [openBoards(server, { isEmbedded: true }), allowFrames(server)];
    const accountOf = (request: FastifyRequest) => boardOf(request).account;
    const forEverybody = [acceptTokens(app, server), ...hooks];
    serveRoutes(app, server, accountOf, boardRoutes.forEverybody.map(inFrame), forEverybody);
    const forMembers = [sendToBoard, ...hooks, requireMember];
    serveRoutes(app, server, accountOf, boardRoutes.forMembers.map(inFrame), forMembers);
  };
}

/**
 * Allows every website to show this answer in a frame. The board is not known yet, so the answer is the same for all
 * boards and visitors.
 */
async function prepare(request: FastifyRequest, reply: FastifyReply) {
  reply.frameAncestors = '*';
  request.frameOfError = title => ({ title, embeddedAt: rootOf(request) });
  request.wayOut = () => wayAround(request);
}

/** Returns the explanation and the link for the error page of a board that is missing, private or not embedded. */
function wayAround(request: FastifyRequest) {
  const outcome = explainOutcome(fieldOf(request.query, 'sign_in'), false);
  const connection = fieldOf(request.query, 'connection');
  if (connection !== '') {
    const link = {
      label: t('embedding.connect.link'),
      href: connectPath(connection, boardPath(fieldOf(request.params, 'slug'))),
    };
    return { explanation: t('embedding.connect.explanation'), link };
  }
  return {
    explanation: outcome === undefined ? t('embedding.missing') : `${outcome}.`,
    link: { label: t('shell.labels.sign_in'), href: signInPath(boardPath(fieldOf(request.params, 'slug'))) },
  };
}

/**
 * Builds the onRequest hook that lets websites show the page in a frame. Only the origins that the board's account has
 * listed may do so.
 */
function allowFrames({ database }: ServerDependencies) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { read, account } = boardOf(request);
    const origins = await readEmbeddingOrigins(database, read.actor.accountId);
    if (origins.length === 0) {
      request.wayOut = () => wayAround(request);
      throw new DomainError('not_found');
    }
    reply.frameAncestors = origins.join(' ');
    // A person who is not a member of the board's account counts as a visitor, even with a session of another account.
    if (!account) request.browserSession = null;
  };
}

/** An onRequest hook of pages for members. If the session has ended, the hook redirects the person to the board. */
async function sendToBoard(request: FastifyRequest, reply: FastifyReply) {
  if (request.browserSession) return;
  return reply.redirect(outcomePath(fieldOf(request.params, 'slug'), 'ended'), 303);
}

function inFrame(route: BoardRoute): BoardRoute {
  const show: BoardRoute['show'] = route.show === showBoard ? visit => showBoard(visit, problemOf(visit)) : route.show;
  return { ...route, ...(show ? { show } : {}), path: route.path.replace('/b/:slug', '/b/:slug/embed') };
}

function rootOf(request: FastifyRequest): string {
  return embeddedPath(fieldOf(request.params, 'slug'));
}
