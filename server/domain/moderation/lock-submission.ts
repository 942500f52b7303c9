import type { ModerationState } from '../../entities/idea.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** An idea of an account that nobody else changes until the transaction ends. */
export interface LockedSubmission {
  id: number;
  moderation_state: ModerationState;
}

/** Locks an idea for its approval or rejection. A frozen board refuses both, like every other write: see lockIdeas. */
export async function lockSubmission(
  admin: Administration,
  accountId: number,
  ideaId: number,
): Promise<LockedSubmission> {
  const idea = await admin.db
    .selectFrom('ideas as i')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', accountId))
    .select(['i.id', 'i.moderation_state', 'b.is_frozen'])
    .where('i.account_id', '=', accountId)
    .where('i.id', '=', ideaId)
    .forNoKeyUpdate('i')
    .forShare('b')
    .executeTakeFirst();
  if (!idea) throw new AdministrationError('not_found', `The account has no idea ${ideaId}`);
  if (idea.moderation_state === 'pending' && idea.is_frozen) {
    throw new AdministrationError('conflict', `The board of idea ${ideaId} is frozen: unfreeze it first`);
  }
  return idea;
}
