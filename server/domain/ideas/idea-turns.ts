import type { Database, Queryable } from '../../database/database.ts';
import type { Actor } from '../operation.ts';

/** The key of work that locks an idea. */
export function turnOnIdea(ideaId: number): string {
  return `idea:${ideaId}`;
}

/** The keys of a merge or an unmerge. An unmerge finds the other ideas that it locks on its way: so accounts have one. */
export function turnsOfMerge(...ideaIds: number[]): (actor: Pick<Actor, 'accountId'>) => string[] {
  return ({ accountId }) => [...ideaIds.map(turnOnIdea), `merging:${accountId}`];
}

/** Runs each statement by itself, in turn. */
export function inTurnAlone(database: Pick<Database, 'query' | 'inTurn'>, keys: readonly string[]): Queryable {
  return { query: (statement, values) => database.inTurn(keys, () => database.query(statement, values)) };
}
