import { plannedStatement } from '../../database/statement.ts';
import type { Administration } from '../administration.ts';

export interface PendingIdea {
  id: number;
  board: string;
  title: string;
  body: string;
  author: string;
  created_at: string;
}

const selectPendingIdeas = plannedStatement<PendingIdea>(`
  select i.id, b.slug as board, i.title, i.body, u.name as author, i.created_at
  from boards b
  join statuses s on s.board_id = b.id
  join ideas i on i.status_id = s.id and i.moderation_state = 'pending'
  join users u on u.id = i.author_id
  where b.account_id = $1 and ($2::bigint is null or b.id = $2)
  order by i.created_at, i.id
  limit $3`);

/** Lists what awaits approval in an account, or on one board of it: who has waited longest stands first. */
export function listPendingIdeas(
  admin: Administration,
  accountId: number,
  boardId: number | null,
  limit: number,
): Promise<PendingIdea[]> {
  return admin.query(selectPendingIdeas, [accountId, boardId, limit]);
}
