import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { recordEvent } from '../events/record-event.ts';
import { lockSubmission } from './lock-submission.ts';

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
