import { type ErrorKey, errors } from '../../../contract/errors.ts';
import { maxTagsOfIdea } from '../../../contract/limits.ts';
import type { Administration } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { Actor } from '../../domain/operation.ts';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { type Problem, problemOf } from './form.ts';
import type { Visit } from './visit.ts';

/**
 * The context of a signed-in person's operation on a board. Functions for ideas and administrative functions both accept
 * it. Unlike the context of an API token, it can record audit entries.
 */
export interface PersonOperation extends Administration {
  readonly actor: Actor;
}

/** Runs work on a board in a transaction, in the name of the signed-in person. `find` returns the actor or throws. */
export function actAs<T>(
  visit: Visit<AccountOfUser | undefined>,
  find: (db: Administration) => Promise<Actor>,
  work: (op: PersonOperation) => Promise<T>,
): Promise<T> {
  return visit.administer(async admin => {
    const actor = await find(admin);
    // Inherits from `admin` instead of copying it. A copy would build the entity manager and the query builder, which
    // few operations need.
    return work(Object.assign<Administration, Pick<PersonOperation, 'actor'>>(Object.create(admin), { actor }));
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
  submissions_not_open_yet: 'This board does not accept ideas yet',
  submissions_closed: 'This board no longer accepts ideas',
  voting_not_open_yet: 'Voting has not begun on this board',
  voting_closed: 'Voting has ended on this board',
  status_votes_closed: 'Ideas in this status accept no votes',
  status_comments_closed: 'Ideas in this status accept no comments',
  consecutive_comment: 'The last comment is yours. Wait until somebody else has commented',
  invalid_status: 'The board no longer has this status. Choose another status',
  invalid_tag: 'The board no longer has this tag. Choose another tag',
  too_many_tags: `An idea can have at most ${maxTagsOfIdea} tags. Remove a tag before you add another`,
  idea_not_published: 'The idea awaits approval. A moderator must approve or reject it first',
  idea_already_merged: 'The idea is already merged into another idea',
  merge_into_self: 'An idea cannot be merged into itself. Choose another idea',
};
