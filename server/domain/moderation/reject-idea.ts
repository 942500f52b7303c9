import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkText } from '../fields.ts';
import { lockSubmission } from './lock-submission.ts';

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
