import { sql } from 'kysely';
import { addJob } from '../../database/add-job.ts';
import { type Arguments, query } from '../../database/query.ts';
import { checkNotFrozen, checkSubmissions } from '../boards/read-board.ts';
import { checkAuthor, checkChangeWindow } from '../change-rights.ts';
import { DomainError } from '../domain-error.ts';
import { replaceMentions } from '../mentions/record-mentions.ts';
import type { Operation, WriteOperation } from '../operation.ts';
import { checkMayDeleteText, checkPublished, lockIdeaEvenIfFrozen } from './lock-ideas.ts';
import { type IdeaView, requireIdea } from './read-idea.ts';

interface OneIdea {
  accountId: number;
  ideaId: number;
}

const selectIdea = query('select_idea_to_change', (db, $: Arguments<OneIdea>) =>
  db
    .selectFrom('ideas as i')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', $.accountId))
    .select(['i.author_id', 'i.title', 'i.body', 'i.created_at', 'i.updated_at'])
    .select(['b.is_frozen', 'b.submissions_open_at', 'b.submissions_close_at', 'b.pre_moderation'])
    .where(i => i.and({ 'i.account_id': $.accountId, 'i.id': $.ideaId })),
);

interface NewTexts extends OneIdea {
  title: string;
  body: string;
  event: 'idea.updated' | 'idea.deleted';
  actorId: number;
  tokenId: number | null;
  /** The details of the event as JSON. */
  details: string;
  now: Date;
}

/**
 * Changes the texts of an idea and records the event. Also adds a job that replaces the texts in copies of the idea
 * (see replaceCopiesOfIdea). The jobs of one idea run one after the other.
 */
const updateTexts = query('update_texts_of_idea', (db, $: Arguments<NewTexts>) =>
  db
    .with('changed', cte =>
      cte
        .updateTable('ideas')
        .set({ title: $.title, body: $.body, updated_at: $.now })
        .where(i => i.and({ account_id: $.accountId, id: $.ideaId }))
        .returning('id'),
    )
    .selectFrom('changed')
    .select([
      sql<string>`record_event(
        ${$.accountId}, ${$.event}, changed.id, null, ${$.actorId}, ${$.tokenId}, ${$.details}, ${$.now}
      )`.as('event_id'),
      sql`graphile_worker.add_job(
        'replace_copies_of_idea', json_build_object('account_id', ${$.accountId}::bigint, 'idea_id', changed.id),
        queue_name => format('copies:%s', changed.id % 8)
      )`.as('job'),
    ]),
);

export interface IdeaChanges {
  title?: string | undefined;
  body?: string | undefined;
  ifUpdatedAt?: string | undefined;
  reason?: string | undefined;
}

/**
 * Edits a published idea. For an edit by the author, the submission window must be open. An edit without a change
 * succeeds, so that a client may repeat it. The edit notifies only people whom the earlier body did not mention.
 */
export async function editIdea(op: WriteOperation, ideaId: number, changes: IdeaChanges): Promise<IdeaView> {
  const { accountId, isModerator } = op.actor;
  const locked = await lockIdeaEvenIfFrozen(op, ideaId);
  const old = await requireTexts(op, ideaId);
  checkAuthor(op, old);
  checkNotFrozen(locked);
  if (!isModerator) checkSubmissions(old, op.now);
  checkChangeWindow(op, { ...old, needs_approval: old.pre_moderation });
  checkPublished(locked);
  const { title = old.title, body = old.body, ifUpdatedAt, reason } = changes;
  const fields = [...(title === old.title ? [] : ['title']), ...(body === old.body ? [] : ['body'])];
  if (fields.length === 0) return requireIdea(op, ideaId);
  checkUnchanged(old.updated_at, ifUpdatedAt, 'idea_changed');

  // The event lists the changed fields without their texts, because events must not keep earlier texts. The idea in the
  // event has the new texts.
  const details = JSON.stringify({ changes: fields.map(field => ({ field, from: null, to: null })), reason });
  const updated = { ...changeOf(op, ideaId), title, body, event: 'idea.updated', details } as const;
  const [event] = await op.query(updateTexts, updated);
  if (!event) throw new Error('An update returned no row');
  op.audit?.record('idea.updated', { account_id: accountId, idea_id: ideaId, changed: fields });
  const text = { ideaId, commentId: null, authorId: old.author_id };
  const mentioned = await replaceMentions(op, text, { old: old.body, new: body });
  await notifyMentioned(op, ideaId, event.event_id, mentioned);
  return requireIdea(op, ideaId);
}

/**
 * Throws if an idea, a comment or a note has changed after the time that the client sent. The caller holds the lock of the
 * idea.
 */
export function checkUnchanged(
  updatedAt: string,
  ifUpdatedAt: string | undefined,
  key: 'idea_changed' | 'comment_changed' | 'note_changed',
) {
  if (ifUpdatedAt !== undefined && Date.parse(ifUpdatedAt) !== Date.parse(updatedAt)) throw new DomainError(key);
}

/** Adds a job that notifies the members whom an edit has mentioned. The event id belongs to the event of the edit. */
export async function notifyMentioned(
  op: WriteOperation,
  ideaId: number,
  eventId: string,
  userIds: readonly number[],
): Promise<void> {
  if (userIds.length === 0) return;
  await addJob(op, {
    task: 'tell_people',
    payload: { account_id: op.actor.accountId, event_id: eventId, is_edit: true, user_ids: userIds },
    queueName: `people:${ideaId % 8}`,
  });
}

const selectUse = query('select_use_of_idea', (db, $: Arguments<OneIdea & { authorId: number }>) =>
  db.selectNoFrom(eb => {
    const votes = eb
      .selectFrom('votes as v')
      .select('v.voter_id')
      .where(v => v.and({ 'v.account_id': $.accountId, 'v.idea_id': $.ideaId }))
      .where('v.value', '<>', 0)
      .where('v.voter_id', 'not in', v =>
        v
          .selectFrom('voters as o')
          .select('o.id')
          .where(o => o.and({ 'o.account_id': $.accountId, 'o.user_id': $.authorId })),
      )
      .where('v.voter_id', 'not in', v =>
        v
          .selectFrom('api_tokens as t')
          .select('t.voter_id')
          .where(t => t.and({ 't.account_id': $.accountId, 't.issuer_id': $.authorId })),
      );
    const comments = eb
      .selectFrom('comments as c')
      .select('c.id')
      .where(c => c.and({ 'c.account_id': $.accountId, 'c.idea_id': $.ideaId }))
      .where('c.author_id', '<>', $.authorId);
    const merged = eb
      .selectFrom('ideas as m')
      .select('m.id')
      .where(m => m.and({ 'm.account_id': $.accountId, 'm.merged_into_id': $.ideaId }));
    return [eb.or([eb.exists(votes), eb.exists(comments)]).as('is_in_use'), eb.exists(merged).as('has_merged')];
  }),
);

/**
 * Throws idea_in_use if other people have voted or commented on the idea, unless the actor is a moderator. Throws
 * idea_has_merged if other ideas are merged into the idea.
 */
export async function checkUnused(op: Operation, ideaId: number, authorId: number): Promise<void> {
  const { accountId, isModerator } = op.actor;
  const [use] = await op.query(selectUse, { accountId, ideaId, authorId });
  if (use?.is_in_use && !isModerator) throw new DomainError('idea_in_use');
  if (use?.has_merged) throw new DomainError('idea_has_merged');
}

/** Replaces the text of a deleted idea or comment, in its row and in copies such as events. */
export const deletedText = '(deleted)';

const markDeleted = query('mark_idea_deleted', (db, $: Arguments<OneIdea & { now: Date }>) =>
  db
    .updateTable('ideas')
    .set({ moderation_state: 'deleted', title: deletedText, body: deletedText, updated_at: $.now })
    .where(i => i.and({ account_id: $.accountId, id: $.ideaId })),
);

/**
 * Deletes a published idea. Its author may do this for some minutes, if nobody else has voted or commented. A moderator
 * may do it at any time. An idea with merged ideas cannot be deleted, because the votes of the merged ideas count for
 * this idea. The row stays without its texts until its events have expired (see clearOld). So webhooks still
 * get the events, and an erasure of the author still finds them. Nobody can read the deleted idea.
 */
export async function deleteIdea(op: WriteOperation, ideaId: number, reason?: string): Promise<void> {
  const { accountId } = op.actor;
  const locked = await lockIdeaEvenIfFrozen(op, ideaId);
  const idea = await requireTexts(op, ideaId);
  checkAuthor(op, idea);
  checkMayDeleteText(op, locked);
  checkChangeWindow(op, idea);
  checkPublished(locked);
  await checkUnused(op, ideaId, idea.author_id);

  // The event keeps the title, so that the author learns which idea a moderator deleted.
  const blanked = { title: idea.title, body: deletedText };
  const details = JSON.stringify({ reason });
  await op.query(updateTexts, { ...changeOf(op, ideaId), ...blanked, event: 'idea.deleted', details });
  await op.query(markDeleted, { accountId, ideaId, now: op.now });
  op.audit?.record('idea.deleted', { account_id: accountId, idea_id: ideaId, user_id: idea.author_id });
}

async function requireTexts(op: WriteOperation, ideaId: number) {
  const [idea] = await op.query(selectIdea, { accountId: op.actor.accountId, ideaId });
  if (!idea) throw new DomainError('not_found');
  return idea;
}

function changeOf({ actor: { accountId, userId, tokenId }, now }: WriteOperation, ideaId: number) {
  return { accountId, ideaId, actorId: userId, tokenId, now };
}
