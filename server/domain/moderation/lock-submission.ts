import { statement } from '../../database/statement.ts';
import type { ModerationState } from '../../entities/idea.ts';
import { type Administration, AdministrationError } from '../administration.ts';

/** An idea of an account that nobody else changes until the transaction ends. */
export interface LockedSubmission {
  id: number;
  moderation_state: ModerationState;
}

const lockSubmissionStatement = statement<LockedSubmission & { is_frozen: boolean }>(
  'lock_submission',
  `select i.id, i.moderation_state, b.is_frozen
  from ideas i join boards b on b.id = i.board_id
  where i.id = $1 and i.account_id = $2
  for no key update of i for share of b`,
);

/** Locks an idea for its approval or rejection. A frozen board accepts no writes, and these are some: see lockIdeas. */
export async function lockSubmission(
  admin: Administration,
  accountId: number,
  ideaId: number,
): Promise<LockedSubmission> {
  const [idea] = await admin.query(lockSubmissionStatement, [ideaId, accountId]);
  if (!idea) throw new AdministrationError('not_found', `The account has no idea ${ideaId}`);
  if (idea.moderation_state === 'pending' && idea.is_frozen) {
    throw new AdministrationError('conflict', `The board of idea ${ideaId} is frozen: unfreeze it first`);
  }
  return idea;
}
