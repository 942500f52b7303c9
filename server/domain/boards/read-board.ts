import type { StatusCategory } from '../../../contract/status.ts';
import { statement } from '../../database/statement.ts';
import { DomainError } from '../domain-error.ts';
import type { ReadOperation } from '../operation.ts';

export interface BoardView {
  id: number;
  slug: string;
  name: string;
  description: string;
  is_frozen: boolean;
  pre_moderation: boolean;
  submissions_open_at: string | null;
  submissions_close_at: string | null;
  voting_open_at: string | null;
  voting_close_at: string | null;
  statuses: {
    key: string;
    category: StatusCategory;
    label: string;
    is_hidden: boolean;
    allow_votes: boolean;
    allow_comments: boolean;
  }[];
  tags: { id: number; name: string; color: string }[];
}

const selectBoard = statement<BoardView>(
  'select_board',
  `select b.id, b.slug, b.name, b.description, b.is_frozen, b.pre_moderation,
    b.submissions_open_at, b.submissions_close_at, b.voting_open_at, b.voting_close_at,
    coalesce((
      select json_agg(json_build_object(
        'key', s.key, 'category', s.category, 'label', s.label, 'is_hidden', s.is_hidden,
        'allow_votes', s.allow_votes, 'allow_comments', s.allow_comments
      ) order by s.position, s.id)
      from statuses s where s.board_id = b.id
    ), '[]') as statuses,
    coalesce((
      select json_agg(json_build_object('id', t.id, 'name', t.name, 'color', t.color) order by lower(t.name), t.id)
      from tags t where t.board_id = b.id
    ), '[]') as tags
  from boards b
  where b.id = $1`,
);

/** Reads the reader's board with its status registry and its tags. */
export async function readBoard(op: ReadOperation): Promise<BoardView> {
  const [board] = await op.query(selectBoard, [op.actor.boardId]);
  if (!board) throw new DomainError('not_found');
  return board;
}
