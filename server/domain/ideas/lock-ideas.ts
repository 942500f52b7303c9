import type { ErrorMeanings } from '../../../contract/errors.ts';
import type { Database, Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { checkNotFrozen } from '../boards/read-board.ts';
import { DomainError } from '../domain-error.ts';
import type { Actor, WriteOperation } from '../operation.ts';
import { isVisible } from './read-idea.ts';

export type LockedIdea = RowOf<typeof selectIdeasLocked>;

/**
 * Locks ideas in the order of their ids, so that two operations on the same ideas never deadlock. Also takes a shared
 * lock on the board. So a freeze of the board waits for writes in progress, and later writes see the freeze.
 */
const selectIdeasLocked = query(
  'lock_ideas',
  (
    db,
    $: Arguments<{
      accountId: number;
      boardId: number;
      ideaIds: readonly number[];
      isModerator: boolean;
      evenIfRejected: boolean;
    }>,
  ) =>
    db
      .selectFrom('ideas as i')
      .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', $.accountId))
      .select(['i.id', 'i.status_id', 'i.moderation_state', 'i.merged_into_id', 'b.is_frozen'])
      .where(i => i.and({ 'i.account_id': $.accountId, 'i.board_id': $.boardId }))
      .where(i => i('i.id', '=', i.fn.any($.ideaIds)))
      .where(i =>
        i.or([isVisible(i, $.isModerator), i.and([$.evenIfRejected, i('i.moderation_state', '=', 'rejected')])]),
      )
      .orderBy('i.id')
      .forNoKeyUpdate('i')
      .forShare('b'),
);

/** Locks ideas and returns them in the given order. Throws not_found or board_frozen. */
export async function lockIdeas(op: WriteOperation, ids: readonly number[]): Promise<LockedIdea[]> {
  const ideas = await lockIdeasEvenIfFrozen(op, ids);
  for (const idea of ideas) checkNotFrozen(idea);
  return ideas;
}

async function lockIdeasEvenIfFrozen(
  op: WriteOperation,
  ids: readonly number[],
  evenIfRejected = false,
): Promise<LockedIdea[]> {
  const { accountId, boardId, isModerator } = op.actor;
  const rows = await op.query(selectIdeasLocked, { accountId, boardId, ideaIds: ids, isModerator, evenIfRejected });
  return ids.map(id => {
    const row = rows.find(idea => idea.id === id);
    if (!row) throw new DomainError('not_found');
    return row;
  });
}

export async function lockIdea(op: WriteOperation, id: number): Promise<LockedIdea> {
  const [idea] = await lockIdeas(op, [id]);
  if (!idea) throw new DomainError('not_found');
  return idea;
}

/**
 * Locks an idea to change a text on it, also on a frozen board. The caller first checks that the text exists and who may
 * change it, and then calls checkNotFrozen or checkMayDeleteText. With `evenIfRejected`, people can also delete a text
 * about a rejected idea.
 */
export async function lockIdeaEvenIfFrozen(
  op: WriteOperation,
  id: number,
  { evenIfRejected = false } = {},
): Promise<LockedIdea> {
  const [idea] = await lockIdeasEvenIfFrozen(op, [id], evenIfRejected && op.actor.tokenId === null);
  if (!idea) throw new DomainError('not_found');
  return idea;
}

/**
 * Throws board_frozen if a token deletes a text on a frozen board. People may delete texts there. Otherwise nobody could
 * remove a password or an insult from a frozen board.
 */
export function checkMayDeleteText({ actor }: WriteOperation, idea: LockedIdea) {
  if (actor.tokenId !== null) checkNotFrozen(idea);
}

export function checkPublished(
  idea: Pick<LockedIdea, 'moderation_state' | 'merged_into_id'>,
  meanings?: ErrorMeanings,
) {
  if (idea.moderation_state !== 'published') throw new DomainError('idea_not_published', { meanings });
  if (idea.merged_into_id !== null) throw new DomainError('idea_already_merged', { meanings });
}

/** The key that limits how many operations on one idea run at the same time (see Database.inTurn). */
export function turnOnIdea(ideaId: number): string {
  return `idea:${ideaId}`;
}

/**
 * Returns the keys that limit how many merges and unmerges run at the same time (see Database.inTurn). There is a key
 * for each given idea, and one key for the account. The account needs a key because an unmerge does not know in advance
 * which ideas it will lock.
 */
export function turnsOfMerge(...ideaIds: number[]): (actor: Pick<Actor, 'accountId'>) => string[] {
  return ({ accountId }) => [...ideaIds.map(turnOnIdea), `merging:${accountId}`];
}

/**
 * Returns a Queryable that runs each statement through Database.inTurn. For each key, only a few statements run at the
 * same time.
 */
export function inTurnAlone(database: Pick<Database, 'query' | 'inTurn'>, keys: readonly string[]): Queryable {
  return { query: (statement, values) => database.inTurn(keys, () => database.query(statement, values)) };
}
