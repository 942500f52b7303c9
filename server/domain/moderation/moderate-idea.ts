import type { ModerationState } from '../../entities/idea.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError, actingUserOf } from '../administration.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkText } from '../fields.ts';

/** Publishes a pending idea. Returns false if the idea is already published. */
export async function approveIdea(admin: Administration, accountId: number, ideaId: number): Promise<boolean> {
  if (!(await leaveQueue(admin, accountId, ideaId, 'published'))) return false;
  await recordEvent(eventSourceOf(admin, accountId), 'idea.created', ideaId);
  admin.audit.record('idea.approved', { account_id: accountId, idea_id: ideaId });
  return true;
}

/** The maximum length of the reason for a rejection. The maximum length of a comment is the same. */
const maxReasonLength = 500;

/** Rejects a pending idea with a reason for its author. Returns false if the idea is already rejected. */
export async function rejectIdea(admin: Administration, accountId: number, ideaId: number, reason: string) {
  const checked = checkText(reason, 1, maxReasonLength, 'reason');
  if (!(await leaveQueue(admin, accountId, ideaId, 'rejected', checked))) return false;
  await recordEvent(eventSourceOf(admin, accountId), 'idea.rejected', ideaId, { reason: checked });
  admin.audit.record('idea.rejected', { account_id: accountId, idea_id: ideaId });
  return true;
}

/** Publishes or rejects a pending idea. Like lockIdeas, throws if the board is frozen. */
async function leaveQueue(
  { db, now }: Administration,
  accountId: number,
  ideaId: number,
  state: 'published' | 'rejected',
  reason: string | null = null,
): Promise<boolean> {
  const idea = await db
    .selectFrom('ideas as i')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', accountId))
    .select(['i.moderation_state', 'b.is_frozen'])
    .where(i => i.and({ 'i.account_id': accountId, 'i.id': ideaId }))
    .where('i.moderation_state', '<>', 'deleted')
    .$narrowType<{ moderation_state: Exclude<ModerationState, 'deleted'> }>()
    .forNoKeyUpdate('i')
    .forShare('b')
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', t('refusals.idea.unknown', { id: ideaId })));
  if (idea.moderation_state === state) return false;
  if (idea.moderation_state !== 'pending') {
    throw new AdministrationError('conflict', t(`refusals.idea.${idea.moderation_state}`, { id: ideaId }));
  }
  if (idea.is_frozen) {
    throw new AdministrationError('conflict', t('refusals.idea.board_frozen', { id: ideaId }));
  }
  await db
    .updateTable('ideas')
    .set({ moderation_state: state, rejection_reason: reason, updated_at: now })
    .where(row => row.and({ account_id: accountId, id: ideaId }))
    .execute();
  return true;
}

function eventSourceOf(admin: Administration, accountId: number) {
  return { query: admin.query, now: admin.now, actor: { accountId, userId: actingUserOf(admin), tokenId: null } };
}
