import { turnOnIdea } from '../../domain/ideas/lock-ideas.ts';
import { findModerator } from '../../domain/members/find-actor.ts';
import { actAs, type PersonOperation } from '../../pages/shell/act.ts';
import type { Visit } from '../../pages/shell/visit.ts';

/** Runs work on a board in a transaction, in the name of the signed-in user. */
export function actOnBoard<T>(visit: Visit, slug: string, work: (op: PersonOperation) => Promise<T>): Promise<T> {
  return act(visit, { slug }, work);
}

/** Runs work on the board of an idea. Throws not_found if the account does not have the idea. */
export function actOnIdea<T>(visit: Visit, ideaId: number, work: (op: PersonOperation) => Promise<T>): Promise<T> {
  return act(visit, { ideaId }, work);
}

/** Runs work that changes an idea. The work waits in the same queue as other requests that lock the idea. */
export function changeIdea<T>(
  visit: Visit,
  ideaId: number,
  work: (op: PersonOperation) => Promise<T>,
  turns = [turnOnIdea(ideaId)],
): Promise<T> {
  return visit.server.database.inTurn(turns, () => actOnIdea(visit, ideaId, work));
}

function act<T>(
  visit: Visit,
  board: Parameters<typeof findModerator>[2],
  work: (op: PersonOperation) => Promise<T>,
): Promise<T> {
  const person = { accountId: visit.account.id, userId: visit.user.id };
  return actAs(visit, db => findModerator(db, person, board), work);
}
