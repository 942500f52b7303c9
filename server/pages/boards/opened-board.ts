import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import {
  type BoardView,
  findPublicBoard,
  type OpenedBoard,
  readSessionWithBoards,
} from '../../domain/boards/read-board.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { atComment } from '../../domain/ideas/present-idea.ts';
import { findMember } from '../../domain/members/find-actor.ts';
import type { Actor, ReadOperation } from '../../domain/operation.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { t } from '../../text/catalogue.ts';
import { actAs, type PersonOperation } from '../shell/act.ts';
import { type OwnArea, openArea } from '../shell/area.ts';
import { fieldOf, idFieldOf } from '../shell/form.ts';
import { Refusal } from '../shell/refusal.ts';
import { redirectToSignIn } from '../shell/session.ts';
import { chargeForm } from '../shell/throttle-forms.ts';
import type { Visit } from '../shell/visit.ts';

/** The board of a request, as the visitor or the signed-in member may read it. */
interface BoardOfRequest {
  slug: string;
  /** The path of the board's pages: /b/<slug>, or /b/<slug>/embed for pages in a frame of another site. */
  root: string;
  isEmbedded: boolean;
  isPublic: boolean;
  /** The board with its statuses and tags, as it was when the server last checked who sends the request. */
  board: BoardView;
  /** The account of the board. Undefined if the signed-in person is not a member of this account. */
  account: AccountOfUser | undefined;
  /** The signed-in member of the board's account as an actor. Undefined for all other people. */
  member: Actor | undefined;
  read: ReadOperation;
  /** The query parameter that names the account, if the person can open several boards with the same slug. */
  parameters: { account?: string };
}

declare module 'fastify' {
  interface FastifyRequest {
    boardOfRequest: BoardOfRequest | null;
    /** The boards with the slug in the path that the signed-in person may read. Null for visitors. */
    boardsOfSession: OpenedBoard[] | null;
  }
}

/** A request for a page of a board. The account is undefined if the person is not a member of the board's account. */
export type BoardVisit = Visit<AccountOfUser | undefined>;

/** Opens an area for the pages of boards. Reads a session and the boards in the path with one statement. */
export async function openBoardArea(app: FastifyInstance, server: ServerDependencies, area: OwnArea) {
  app.decorateRequest('boardOfRequest', null);
  app.decorateRequest('boardsOfSession', null);
  await openArea(app, server, {
    ...area,
    readUser: async (request, lookUp) => {
      const found = await readSessionWithBoards(server.database, lookUp, fieldOf(request.params, 'slug'));
      request.boardsOfSession = found?.boards ?? null;
      return found?.user;
    },
  });
}

/**
 * Builds the onRequest hook that finds the board of a request. Private boards are only for members of the board's
 * account. Other people get the same 404 as for a missing board.
 */
export function openBoards({ database }: Pick<ServerDependencies, 'database'>, { isEmbedded = false } = {}) {
  return async (request: FastifyRequest) => {
    const slug = fieldOf(request.params, 'slug');
    const root = isEmbedded ? embeddedPath(slug) : boardPath(slug);
    const accounts = request.browserSession?.user.accounts ?? [];
    const accountOf = (board: OpenedBoard) => accounts.find(({ id }) => id === board.accountId);
    const publicBoard = request.boardsOfSession ? undefined : await findPublicBoard(database, slug);
    const boards = request.boardsOfSession ?? (publicBoard ? [publicBoard] : []);
    // A session on embedded pages belongs to one account. If several boards have the slug in the path, the server
    // prefers the board of this account.
    const named = isEmbedded ? accounts[0]?.slug : fieldOf(request.query, 'account');
    // A board of the person's own account comes before a public board of another account. Otherwise everybody could hide
    // a private board from its members with a public board that has the same slug.
    const board = boards.find(one => accountOf(one)?.slug === named) ?? boards.find(accountOf) ?? boards[0];
    if (!board) throw new DomainError('not_found');
    const account = accountOf(board);
    const { view, accountId } = board;
    const member = actorIn(board.member, isEmbedded);
    const visitor = { accountId, boardId: view.id, voterId: null, isModerator: false } as const;
    request.wayOut = () => wayToBoard(root);
    request.boardOfRequest = {
      slug,
      root,
      isEmbedded,
      isPublic: board.isPublic,
      board: view,
      account,
      member,
      // A member may have just changed the board. A visitor cannot change it, so a visitor's page may be a little old.
      read: member ? { query: database.query, actor: member } : { query: database.reader.query, actor: visitor },
      parameters: account && boards.length > 1 ? { account: account.slug } : {},
    };
  };
}

/**
 * Returns the actor for a member. On embedded pages, nobody is a moderator, because the embedding website decides which
 * user the person is signed in as.
 */
function actorIn(member: Actor | undefined, isEmbedded: boolean): Actor | undefined {
  return member && isEmbedded ? { ...member, isModerator: false } : member;
}

/**
 * Returns the explanation and the link for the 404 page of a missing page on a board. The page of a pending idea also
 * counts as missing.
 */
function wayToBoard(root: string) {
  return {
    explanation: t('boards.no_such_page.explanation'),
    link: { label: t('boards.no_such_page.all_ideas'), href: root },
  };
}

export function boardOf({ boardOfRequest }: FastifyRequest): BoardOfRequest {
  if (!boardOfRequest) throw new Error('The route is not for a board');
  return boardOfRequest;
}

/** Returns the context for operations of the signed-in member. The route must have the hook requireMember. */
export function memberOf({ request, server }: BoardVisit) {
  const { read, member } = boardOf(request);
  if (!member) throw new Error('The route is not behind requireMember');
  return { query: read.query, actor: member, now: server.clock.now() };
}

/**
 * An onRequest hook for pages and forms that only members of the board's account may use. Redirects other visitors to
 * the sign-in page. After the sign-in, the browser returns to the page. If the visitor had sent a form, the browser
 * returns to the page of the idea that the form belongs to, or to the board. The answer depends only on the URL, so it
 * does not reveal whether the board or the idea exists.
 */
export async function sendToSignIn(request: FastifyRequest, reply: FastifyReply) {
  if (request.browserSession) return;
  return redirectToSignIn(request, reply, request.method === 'GET' ? request.url : pageOfForm(request));
}

/**
 * Returns the path of the page that contains the form of a request: the page of an idea, or the board. `root` is the path
 * of the board's pages.
 */
export function pageOfForm(request: FastifyRequest, root = boardPath(fieldOf(request.params, 'slug'))): string {
  const ideaId = idFieldOf(request.params, 'id');
  const account = fieldOf(request.query, 'account');
  const path = ideaId === undefined ? root : `${root}/ideas/${ideaId}`;
  return account === '' ? path : `${path}?${new URLSearchParams({ account })}`;
}

/** An onRequest hook that refuses a signed-in person who is not a member of the board's account. */
export async function requireMember(request: FastifyRequest) {
  if (boardOf(request).member) return;
  throw new Refusal(403, t('shell.only_for.members.title'), t('boards.only_for_members'));
}

export function boardPath(slug: string): string {
  return `/b/${encodeURIComponent(slug)}`;
}

/** The path of the board's pages in frames of other sites. */
export function embeddedPath(slug: string): string {
  return `${boardPath(slug)}/embed`;
}

export function roadmapPath(slug: string): string {
  return `${boardPath(slug)}/roadmap`;
}

export function feedPath(slug: string): string {
  return `${boardPath(slug)}/feed.atom`;
}

export function ideaPath(slug: string, id: number): string {
  return `${boardPath(slug)}/ideas/${id}`;
}

/**
 * Converts the path and query of an embedded page to those of the ordinary page, which is not in a frame. Leaves out
 * the parameters that belong to a sign-in in the frame.
 */
export function ordinaryPathOf(request: FastifyRequest): string {
  const { root, slug, isEmbedded } = boardOf(request);
  if (!isEmbedded) return request.url;
  const { pathname, searchParams } = new URL(request.url, 'http://pages.invalid');
  for (const name of ['sign_in', 'notice', 'connection', 'account']) searchParams.delete(name);
  const path = boardPath(slug) + pathname.slice(root.length);
  return searchParams.size > 0 ? `${path}?${searchParams}` : path;
}

/** Returns a path on the board of a request, such as `/ideas/7`, with the parameter that names the account. */
export function pathOn(
  request: FastifyRequest,
  path = '',
  parameters?: Record<string, string> | URLSearchParams,
): string {
  const { root, parameters: own } = boardOf(request);
  // A list has many such paths, and URLSearchParams is slow.
  if (!parameters && own.account === undefined) return root + path;
  const given = new URLSearchParams(parameters);
  const search = own.account === undefined ? given : new URLSearchParams([...Object.entries(own), ...given]);
  return search.size > 0 ? `${root}${path}?${search}` : root + path;
}

/** Returns the path of the page of an idea that shows a comment, with the comment as its fragment. */
export function pathToComment(
  request: FastifyRequest,
  { ideaId, commentId }: { ideaId: number; commentId: number },
  parameters: { notice?: string } = {},
): string {
  return atComment(pathOn(request, `/ideas/${ideaId}`, parameters), commentId);
}

const hour = 3_600;

/** Runs a change by the signed-in member in a transaction. Counts the change against the member's rate limit first. */
export async function changeAsMember<T>(
  visit: BoardVisit,
  work: (op: PersonOperation) => Promise<T>,
  turns: string[] = [],
): Promise<T> {
  const { server, user, request } = visit;
  const board = boardOf(request);
  const { actor: member } = memberOf(visit);
  const limit = server.config.RATE_LIMIT_MEMBER;
  await chargeForm(server, visit, 'writes', [['member', String(user.id), limit, hour]]);
  const { accountId } = member;
  // Finds the member again in the transaction, because the person may have been blocked or removed after the request
  // began.
  const find: Parameters<typeof actAs>[1] = async db => {
    const actor = actorIn(await findMember(db, { accountId, userId: user.id }, board), board.isEmbedded);
    if (!actor) throw new DomainError('not_found');
    return actor;
  };
  return server.database.inTurn(turns, () => actAs(visit, find, work));
}
