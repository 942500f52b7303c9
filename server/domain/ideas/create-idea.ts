import { statement } from '../../database/statement.ts';
import { Follower } from '../../entities/follower.ts';
import { Idea } from '../../entities/idea.ts';
import { checkSubmissions } from '../boards/check-board.ts';
import { DomainError } from '../domain-error.ts';
import { recordEvent } from '../events/record-event.ts';
import type { WriteOperation } from '../operation.ts';
import { type IdeaView, requireIdea } from './read-idea.ts';

interface BoardForSubmission {
  is_frozen: boolean;
  pre_moderation: boolean;
  submissions_open_at: string | null;
  submissions_close_at: string | null;
  initial_status_id: number;
}

/** The lock lets a freeze wait for what was let through, and nothing slip in after it was answered. */
const lockBoardForSubmission = statement<BoardForSubmission>(
  'lock_board_for_submission',
  `select b.is_frozen, b.pre_moderation, b.submissions_open_at, b.submissions_close_at, (
    select s.id from statuses s
    where s.board_id = b.id and s.category = 'inbox'
    order by s.position, s.id limit 1
    for key share of s
  ) as initial_status_id
  from boards b
  where b.id = $1
  for share of b`,
);

/**
 * Creates an idea by the actor (POST /api/v1/ideas). On a board with pre-moderation it awaits approval, unless the
 * actor is a moderator. The author follows it.
 */
export async function createIdea(op: WriteOperation, input: { title: string; body: string }): Promise<IdeaView> {
  const { accountId, boardId, userId, isModerator } = op.actor;
  const [board] = await op.query(lockBoardForSubmission, [boardId]);
  if (!board) throw new DomainError('not_found');
  checkSubmissions(board, op.now);

  const idea = op.em.create(Idea, {
    accountId,
    boardId,
    authorId: userId,
    statusId: board.initial_status_id,
    title: input.title,
    body: input.body,
    moderationState: board.pre_moderation && !isModerator ? 'pending' : 'published',
    createdAt: op.now,
    updatedAt: op.now,
  });
  await op.em.flush();
  op.em.create(Follower, { ideaId: idea.id, userId, accountId, createdAt: op.now });
  await recordEvent(op, idea.moderationState === 'published' ? 'idea.created' : 'idea.pending', idea.id);
  return requireIdea(op, idea.id);
}
