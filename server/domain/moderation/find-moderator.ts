import type { Queryable } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import { DomainError } from '../domain-error.ts';
import { type Actor, noVoter } from '../operation.ts';

interface BoardRow {
  board_id: number;
  voter_id: number | null;
}

/** The boards on which a person moderates, with the person's own voter, who is there once they have voted. */
const boardsOfModerator = `
  from memberships m
  join boards b on b.account_id = m.account_id
  left join voters v on v.account_id = m.account_id and v.user_id = m.user_id
  where m.account_id = $1 and m.user_id = $2 and m.role in ('owner', 'admin', 'moderator')`;

const selectByIdea = statement<BoardRow>(
  'select_moderator_by_idea',
  `select b.id as board_id, v.id as voter_id ${boardsOfModerator}
    and b.id = (select i.board_id from ideas i where i.id = $3)`,
);

const selectBySlug = statement<BoardRow>(
  'select_moderator_by_slug',
  `select b.id as board_id, v.id as voter_id ${boardsOfModerator} and b.slug = $3`,
);

/**
 * A person who acts as a moderator on a board of an account: on the one of a slug, or on which an idea is. Not found where
 * the account has no such board or idea, or the person moderates there no more.
 */
export async function findModerator(
  db: Queryable,
  { accountId, userId }: { accountId: number; userId: number },
  board: { slug: string } | { ideaId: number },
): Promise<Actor> {
  const [row] =
    'slug' in board
      ? await db.query(selectBySlug, [accountId, userId, board.slug])
      : await db.query(selectByIdea, [accountId, userId, board.ideaId]);
  if (!row) throw new DomainError('not_found');
  const { board_id: boardId, voter_id: voterId } = row;
  return { accountId, boardId, userId, tokenId: null, voterId: voterId ?? noVoter, isModerator: true };
}
