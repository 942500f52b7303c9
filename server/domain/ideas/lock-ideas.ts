import { statement } from '../../database/statement.ts';
import type { ModerationState } from '../../entities/idea.ts';
import { checkNotFrozen } from '../boards/check-board.ts';
import { DomainError } from '../domain-error.ts';
import type { WriteOperation } from '../operation.ts';

/** An idea that nobody else changes until the transaction ends. */
export interface LockedIdea {
  id: number;
  status_id: number;
  moderation_state: ModerationState;
  merged_into_id: number | null;
}

/**
 * Ideas are locked in the order of their ids, so that two operations on the same ones never deadlock. The board is
 * locked for reading: a freeze waits for what was let through, and what waited for an idea finds the board frozen.
 */
const lockIdeasStatement = statement<LockedIdea & { is_frozen: boolean }>(
  'lock_ideas',
  `select i.id, i.status_id, i.moderation_state, i.merged_into_id, b.is_frozen
  from ideas i join boards b on b.id = i.board_id
  where i.id = any($1) and i.board_id = $2
    and (i.moderation_state = 'published' or ($3 and i.moderation_state = 'pending'))
  order by i.id
  for no key update of i for share of b`,
);

/** Locks ideas of the actor's board for a change, in the order given: 404 where one is not there, 423 when frozen. */
export async function lockIdeas(op: WriteOperation, ids: readonly number[]): Promise<LockedIdea[]> {
  const rows = await op.query(lockIdeasStatement, [ids, op.actor.boardId, op.actor.isModerator]);
  const ideas = ids.map(id => {
    const row = rows.find(idea => idea.id === id);
    if (!row) throw new DomainError('not_found');
    return row;
  });
  for (const idea of ideas) checkNotFrozen(idea);
  return ideas;
}

export async function lockIdea(op: WriteOperation, id: number): Promise<LockedIdea> {
  const [idea] = await lockIdeas(op, [id]);
  if (!idea) throw new DomainError('not_found');
  return idea;
}

/** Refuses an idea that awaits approval or is merged into another. */
export function checkPublished(idea: Pick<LockedIdea, 'moderation_state' | 'merged_into_id'>) {
  if (idea.moderation_state !== 'published') throw new DomainError('idea_not_published');
  if (idea.merged_into_id !== null) throw new DomainError('idea_already_merged');
}
