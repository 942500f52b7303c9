import { plannedStatement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import type { BoardView } from './read-board.ts';

export interface BoardListing extends Omit<BoardView, 'statuses' | 'tags'> {
  /** Whether everybody may read it at /b/<slug>. */
  is_public: boolean;
  /** How many ideas await approval. */
  pending_count: number;
  created_at: string;
  updated_at: string;
}

const selectBoards = plannedStatement<BoardListing>(`
  select b.id, b.slug, b.name, b.description, b.is_frozen, b.pre_moderation, b.is_public,
    b.submissions_open_at, b.submissions_close_at, b.voting_open_at, b.voting_close_at,
    (
      select count(*) from statuses s join ideas i on i.status_id = s.id
      where s.board_id = b.id and i.moderation_state = 'pending'
    ) as pending_count,
    b.created_at, b.updated_at
  from boards b
  where b.account_id = $1 and ($2::bigint is null or b.id = $2)
  order by b.slug`);

/** Lists the boards of an account. */
export function listBoards(admin: Administration, accountId: number): Promise<BoardListing[]> {
  return admin.query(selectBoards, [accountId, null]);
}

export async function readBoardListing(
  admin: Administration,
  board: { accountId: number; id: number },
): Promise<BoardListing> {
  const [listing] = await admin.query(selectBoards, [board.accountId, board.id]);
  if (!listing) throw new AdministrationError('not_found', 'The board is gone');
  return listing;
}

/** A board, for those who choose one. */
export type NamedBoard = Pick<BoardListing, 'id' | 'slug' | 'name'>;

const selectBoardNames = plannedStatement<NamedBoard>(
  'select id, slug, name from boards where account_id = $1 order by slug',
);

/** Lists the boards of an account by slug, with their names alone. */
export function listBoardNames(admin: Administration, accountId: number): Promise<NamedBoard[]> {
  return admin.query(selectBoardNames, [accountId]);
}
