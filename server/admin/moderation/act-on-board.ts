import { type ErrorKey, errors } from '../../../contract/errors.ts';
import { maxTagsOfIdea } from '../../../contract/limits.ts';
import type { Administration } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { turnOnIdea } from '../../domain/ideas/lock-ideas.ts';
import { findModerator } from '../../domain/moderation/find-moderator.ts';
import type { Actor } from '../../domain/operation.ts';
import { type Problem, problemOf } from '../../pages/shell/form.ts';
import type { Visit } from '../../pages/shell/visit.ts';

/**
 * The context of a signed-in moderator's operation on a board. Functions for ideas and administrative functions both
 * accept it. Unlike the context of an API token, it can record audit entries.
 */
export interface Moderation extends Administration {
  readonly actor: Actor;
}

/** Runs work on a board in a transaction, in the name of the signed-in user. */
export function actOnBoard<T>(visit: Visit, slug: string, work: (op: Moderation) => Promise<T>): Promise<T> {
  return act(visit, { slug }, work);
}

/** Runs work on the board of an idea. Throws not_found if the account does not have the idea. */
export function actOnIdea<T>(visit: Visit, ideaId: number, work: (op: Moderation) => Promise<T>): Promise<T> {
  return act(visit, { ideaId }, work);
}

/** Runs work that changes an idea. The work waits in line with the other requests that lock the idea. */
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
    // Inherits from `admin` instead of copying it. A copy would build the entity manager and the query builder, which
    // few operations need.
    return work(Object.assign<Administration, Pick<Moderation, 'actor'>>(Object.create(admin), { actor }));
  });
}

/**
 * Returns the message for an operation that the domain rules refused. Other errors, such as not_found, have their own
 * pages.
 */
export function problemOfAction(error: unknown): Problem {
  const key = error instanceof DomainError ? (error as DomainError).key : undefined;
  const message = key && explanations[key];
  return message ? { status: errors[key].status, message } : problemOf(error);
}

const explanations: Partial<Record<ErrorKey, string>> = {
  board_frozen: 'The board is frozen. An owner or admin must unfreeze it first',
  invalid_status: 'The board no longer has this status. Choose another status',
  invalid_tag: 'The board no longer has this tag. Choose another tag',
  too_many_tags: `An idea can have at most ${maxTagsOfIdea} tags. Remove a tag before you add another`,
  idea_not_published: 'The idea awaits approval. Approve or reject it first',
  idea_already_merged: 'The idea is already merged into another idea',
  merge_into_self: 'An idea cannot be merged into itself. Choose another idea',
};
