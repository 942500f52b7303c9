import { statement } from '../../database/statement.ts';
import { DomainError } from '../domain-error.ts';
import { recordEvent } from '../events/record-event.ts';
import { checkPublished, lockIdea } from '../ideas/lock-ideas.ts';
import { type IdeaView, requireIdea } from '../ideas/read-idea.ts';
import type { WriteOperation } from '../operation.ts';

const findStatus = statement<{ id: number; old_key: string }>(
  'find_status',
  `select s.id, old.key as old_key
  from statuses s, statuses old
  where s.board_id = $1 and s.key = $2 and old.id = $3
  for key share of s`,
);

const updateStatus = statement<never>(
  'update_idea_status',
  'update ideas set status_id = $2, updated_at = $3 where id = $1',
);

/** Moves an idea to a status of the board's registry (Idea actions, rule 3). The status it has changes nothing. */
export async function setIdeaStatus(op: WriteOperation, ideaId: number, key: string): Promise<IdeaView> {
  const idea = await lockIdea(op, ideaId);
  checkPublished(idea);
  const [status] = await op.query(findStatus, [op.actor.boardId, key, idea.status_id]);
  if (!status) throw new DomainError('invalid_status');
  if (status.id !== idea.status_id) {
    await op.query(updateStatus, [ideaId, status.id, op.now]);
    const changes = [{ field: 'status_key', from: status.old_key, to: key }];
    await recordEvent(op, 'idea.status_changed', ideaId, { changes });
    const { accountId } = op.actor;
    op.audit?.record('idea.status_changed', {
      account_id: accountId,
      idea_id: ideaId,
      from: status.old_key,
      to: key,
    });
  }
  return requireIdea(op, ideaId);
}
