import type { FastifyRequest } from 'fastify';
import type { ServerDependencies } from '../../dependencies.ts';
import type { Administration } from '../../domain/administration.ts';
import { turnOnIdea } from '../../domain/ideas/lock-ideas.ts';
import { findModerator } from '../../domain/moderation/find-moderator.ts';
import type { Actor } from '../../domain/operation.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { administer, sessionOf } from '../shell/session.ts';

/**
 * What a moderator is given for a board: operations of ideas take it, as the Agent API's do for a token, and so do
 * administrative ones. Unlike a token's, what is done is told in the audit log, by the operation that did it.
 */
export interface Moderation extends Administration {
  readonly actor: Actor;
}

/** Runs work in a transaction on the board of a slug, as whoever is signed in. */
export function actOnBoard<T>(
  server: ServerDependencies,
  request: FastifyRequest,
  account: AccountOfUser,
  slug: string,
  work: (op: Moderation) => Promise<T>,
): Promise<T> {
  return act(server, request, account, { slug }, work);
}

/** The same on the board of an idea: not found where the account has none of that id. */
export function actOnIdea<T>(
  server: ServerDependencies,
  request: FastifyRequest,
  account: AccountOfUser,
  ideaId: number,
  work: (op: Moderation) => Promise<T>,
): Promise<T> {
  return act(server, request, account, { ideaId }, work);
}

/** The same for a change, which takes its turn among the requests that lock the idea. */
export function changeIdea<T>(
  server: ServerDependencies,
  request: FastifyRequest,
  account: AccountOfUser,
  ideaId: number,
  work: (op: Moderation) => Promise<T>,
  turns = [turnOnIdea(ideaId)],
): Promise<T> {
  return server.database.inTurn(turns, () => actOnIdea(server, request, account, ideaId, work));
}

function act<T>(
  server: ServerDependencies,
  request: FastifyRequest,
  account: AccountOfUser,
  board: Parameters<typeof findModerator>[2],
  work: (op: Moderation) => Promise<T>,
): Promise<T> {
  const person = { accountId: account.id, userId: sessionOf(request).user.id };
  return administer(server, request, async admin => {
    const actor = await findModerator(admin, person, board);
    // Inherits: a copy would make the entity manager and the query builder, which few operations need.
    return work(Object.assign<Administration, Pick<Moderation, 'actor'>>(Object.create(admin), { actor }));
  });
}
