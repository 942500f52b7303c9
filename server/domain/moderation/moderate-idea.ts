import type { ModerationState } from '../../entities/idea.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkText } from '../fields.ts';

/** An idea of an account that nobody else changes until the transaction ends. */
interface LockedSubmission {
  id: number;
  moderation_state: ModerationState;
}

/** Locks an idea for its approval or rejection. A frozen board refuses both, like every other write: see lockIdeas. */
async function lockSubmission(admin: Administration, accountId: number, ideaId: number): Promise<LockedSubmission> {
  const idea = await admin.db
    .selectFrom('ideas as i')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', accountId))
    .select(['i.id', 'i.moderation_state', 'b.is_frozen'])
    .where('i.account_id', '=', accountId)
    .where('i.id', '=', ideaId)
    .forNoKeyUpdate('i')
    .forShare('b')
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', `The account has no idea ${ideaId}`));
  if (idea.moderation_state === 'pending' && idea.is_frozen) {
    throw new AdministrationError('conflict', `The board of idea ${ideaId} is frozen: unfreeze it first`);
  }
  return idea;
}

/**
 * Publishes an idea that awaits approval, and tells of it as of an idea that is published at once. Answers whether it
 * did: one that is published already stays as it is.
 */
export async function approveIdea(admin: Administration, accountId: number, ideaId: number): Promise<boolean> {
  const idea = await lockSubmission(admin, accountId, ideaId);
  if (idea.moderation_state === 'published') return false;
  if (idea.moderation_state === 'rejected') {
    throw new AdministrationError('conflict', `Idea ${ideaId} was rejected: only a pending one can be approved`);
  }
  await admin.db
    .updateTable('ideas')
    .set({ moderation_state: 'published', updated_at: admin.now })
    .where('account_id', '=', accountId)
    .where('id', '=', ideaId)
    .execute();
  const actor = { accountId, userId: actingUserOf(admin), tokenId: null };
  await recordEvent({ query: admin.query, now: admin.now, actor }, 'idea.created', ideaId);
  admin.audit.record('idea.approved', { account_id: accountId, idea_id: ideaId });
  return true;
}

/** As long as a comment may be. */
const maxReasonLength = 500;

/**
 * Rejects an idea that awaits approval, and tells its author why. Answers whether it did: one that is rejected already
 * keeps the reason it has.
 */
export async function rejectIdea(
  admin: Administration,
  accountId: number,
  ideaId: number,
  reason: string,
): Promise<boolean> {
  const checked = checkText(reason, 1, maxReasonLength, 'reason');
  const idea = await lockSubmission(admin, accountId, ideaId);
  if (idea.moderation_state === 'rejected') return false;
  if (idea.moderation_state === 'published') {
    throw new AdministrationError('conflict', `Idea ${ideaId} is published: only a pending one can be rejected`);
  }
  await admin.db
    .updateTable('ideas')
    .set({ moderation_state: 'rejected', rejection_reason: checked, updated_at: admin.now })
    .where('account_id', '=', accountId)
    .where('id', '=', ideaId)
    .execute();
  const actor = { accountId, userId: actingUserOf(admin), tokenId: null };
  await recordEvent({ query: admin.query, now: admin.now, actor }, 'idea.rejected', ideaId, { reason: checked });
  admin.audit.record('idea.rejected', { account_id: accountId, idea_id: ideaId });
  return true;
}
