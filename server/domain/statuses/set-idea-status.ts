import { sql } from 'kysely';
import { storable } from '../../../contract/text.ts';
import { type Arguments, query } from '../../database/query.ts';
import { readBoard } from '../boards/read-board.ts';
import { presentComment, readReplies, replyToIdea } from '../comments/comments.ts';
import { DomainError } from '../domain-error.ts';
import { checkPublished, lockIdea } from '../ideas/lock-ideas.ts';
import { type IdeaView, requireIdea } from '../ideas/read-idea.ts';
import type { WriteOperation } from '../operation.ts';

const selectStatus = query(
  'find_status',
  (db, $: Arguments<{ accountId: number; boardId: number; key: string; oldId: number }>) =>
    db
      .selectFrom('statuses as s')
      .innerJoin('statuses as old', join => join.on('old.account_id', '=', $.accountId).on('old.id', '=', $.oldId))
      .select(['s.id', 'old.key as old_key'])
      .where(s => s.and({ 's.account_id': $.accountId, 's.board_id': $.boardId, 's.key': $.key }))
      .forKeyShare('s'),
);

interface Move {
  accountId: number;
  ideaId: number;
  statusId: number;
  actorId: number;
  tokenId: number | null;
  /** The details of the event as JSON. */
  details: string;
  now: Date;
}

const moveIdea = query('update_idea_status', (db, $: Arguments<Move>) =>
  db
    .with('moved', cte =>
      cte
        .updateTable('ideas')
        .set({ status_id: $.statusId, updated_at: $.now })
        .where(row => row.and({ account_id: $.accountId, id: $.ideaId }))
        .returning('id'),
    )
    .selectFrom('moved')
    .select(
      sql`record_event(
        ${$.accountId}, 'idea.status_changed', moved.id, null, ${$.actorId}, ${$.tokenId}, ${$.details}, ${$.now}
      )`.as('recorded'),
    ),
);

/**
 * Sets the status of an idea (specification: Idea actions, rule 3), and adds an official reply if one is given. Changes
 * nothing if the status stays the same and the newest official reply has the same text, so that a retry is safe.
 */
export async function setIdeaStatus(
  op: WriteOperation,
  ideaId: number,
  key: string,
  replyBody?: string,
): Promise<IdeaView> {
  const { accountId, boardId, userId, tokenId } = op.actor;
  const idea = await lockIdea(op, ideaId);
  checkPublished(idea);
  const [status] = storable(key)
    ? await op.query(selectStatus, { accountId, boardId, key, oldId: idea.status_id })
    : [];
  if (!status) {
    const { statuses } = await readBoard(op);
    throw new DomainError('invalid_status', { details: { statuses: statuses.map(one => one.key) } });
  }
  const isMoved = status.id !== idea.status_id;
  const reply =
    replyBody !== undefined && (isMoved || (await readReplies(op, [ideaId])).get(ideaId)?.body !== replyBody)
      ? await replyToIdea(op, idea, replyBody)
      : undefined;
  if (isMoved) {
    const changes = [{ field: 'status_key', from: status.old_key, to: key }];
    await op.query(moveIdea, {
      accountId,
      ideaId,
      statusId: status.id,
      actorId: userId,
      tokenId,
      details: JSON.stringify({ changes, ...(reply && { reply: presentComment(reply) }) }),
      now: op.now,
    });
    const changed = { account_id: accountId, idea_id: ideaId, from: status.old_key, to: key };
    op.audit?.record('idea.status_changed', changed);
  }
  return requireIdea(op, ideaId);
}
