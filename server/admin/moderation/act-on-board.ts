import type { Administration } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { turnOnIdea } from '../../domain/ideas/lock-ideas.ts';
import { findModerator } from '../../domain/moderation/find-moderator.ts';
import type { Actor } from '../../domain/operation.ts';
import { type Problem, problemOf } from '../shell/form.ts';
import type { Visit } from '../shell/visit.ts';

/**
 * What a moderator needs to act on a board. Operations on ideas take it as they take a token's from the Agent API, and so
 * do administrative operations. Unlike for a token, the operation records the action in the audit log.
 */
export interface Moderation extends Administration {
  readonly actor: Actor;
}

/** Runs work in a transaction on the board of a slug, in the name of the signed-in user. */
export function actOnBoard<T>(visit: Visit, slug: string, work: (op: Moderation) => Promise<T>): Promise<T> {
  return act(visit, { slug }, work);
}

/** Does the same on the board of an idea. Throws not_found if the account has no such idea. */
export function actOnIdea<T>(visit: Visit, ideaId: number, work: (op: Moderation) => Promise<T>): Promise<T> {
  return act(visit, { ideaId }, work);
}

/** Does the same for a change, which takes its turn among the requests that lock the idea. */
export function changeIdea<T>(
  visit: Visit,
  ideaId: number,
  work: (op: Moderation) => Promise<T>,
  turns = [turnOnIdea(ideaId)],
): Promise<T> {
  return visit.server.database.inTurn(turns, () => actOnIdea(visit, ideaId, work));
}

function act<T>(
  visit: Visit,
  board: Parameters<typeof findModerator>[2],
  work: (op: Moderation) => Promise<T>,
): Promise<T> {
  const person = { accountId: visit.account.id, userId: visit.user.id };
  return visit.administer(async admin => {
    const actor = await findModerator(admin, person, board);
    // Inherits: a copy would make the entity manager and the query builder, which few operations need.
    return work(Object.assign<Administration, Pick<Moderation, 'actor'>>(Object.create(admin), { actor }));
  });
}

/** Explains the domain's refusals on the page of the form. Other errors, such as not_found, have their own pages. */
export function problemOfAction(error: unknown): Problem {
  const key = error instanceof DomainError ? (error as DomainError).key : undefined;
  return (key && problems[key]) ?? problemOf(error);
}

const problems: Partial<Record<DomainError['key'], Problem>> = {
  board_frozen: {
    status: 423,
    message: 'The board is frozen: ideas on it cannot be changed until an owner or admin unfreezes it',
  },
  invalid_status: { status: 422, message: 'The board has no such status: choose one of those that are there now' },
  invalid_tag: { status: 422, message: 'The board has no such tag: choose one of those that are there now' },
  idea_not_published: { status: 422, message: 'That idea awaits approval: approve or reject it first' },
  idea_already_merged: { status: 422, message: 'That idea is merged into another already' },
  merge_into_self: { status: 422, message: 'An idea cannot be merged into itself: choose another one' },
};
