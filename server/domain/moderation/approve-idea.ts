import { statement } from '../../database/statement.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { recordEvent } from '../events/record-event.ts';
import { lockSubmission } from './lock-submission.ts';

const publishIdea = statement<never>(
  'publish_idea',
  `update ideas set moderation_state = 'published', updated_at = $2 where id = $1`,
);

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
  await admin.query(publishIdea, [ideaId, admin.now]);
  await recordEvent({ ...admin, actor: { userId: actingUserOf(admin), tokenId: null } }, 'idea.created', ideaId);
  admin.audit.record('idea.approved', { account_id: accountId, idea_id: ideaId });
  return true;
}
