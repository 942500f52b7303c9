import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';

export interface RejectedIdea {
  id: number;
  title: string;
  body: string;
  /** What the author was told. */
  reason: string;
  board_slug: string;
  board_name: string;
  author_id: number;
  author_name: string;
  created_at: string;
  rejected_at: string;
}

const selectRejectedIdea = statement<RejectedIdea>(
  'select_rejected_idea',
  `select i.id, i.title, i.body, coalesce(i.rejection_reason, '') as reason, b.slug as board_slug, b.name as board_name,
    i.author_id, u.name as author_name, i.created_at, i.updated_at as rejected_at
  from ideas i join boards b on b.id = i.board_id join users u on u.id = i.author_id
  where i.id = $1 and i.account_id = $2 and i.moderation_state = 'rejected'`,
);

/** Reads an idea of an account that was rejected, which only its moderators see; undefined where it was not. */
export async function readRejectedIdea(
  db: Queryable,
  accountId: number,
  ideaId: number,
): Promise<RejectedIdea | undefined> {
  const [idea] = await db.query(selectRejectedIdea, [ideaId, accountId]);
  return idea;
}
