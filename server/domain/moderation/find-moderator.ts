import type { Expression, Kysely } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { DomainError } from '../domain-error.ts';
import { type Actor, noVoter } from '../operation.ts';

interface Person {
  accountId: number;
  userId: number;
}

/**
 * Selects the boards that a person moderates. Also selects the id of the person's voter, which is null until the person
 * votes for the first time.
 */
function boardsOfModerator(db: Kysely<Tables>, accountId: Expression<number>, userId: Expression<number>) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('boards as b', join => join.on('b.account_id', '=', accountId))
    .leftJoin('voters as v', join => join.on('v.account_id', '=', accountId).on('v.user_id', '=', userId))
    .select(['b.id as board_id', 'v.id as voter_id'])
    .where(m => m.and({ 'm.account_id': accountId, 'm.user_id': userId }))
    .where('m.role', 'in', ['owner', 'admin', 'moderator']);
}

const selectByIdea = query('select_moderator_by_idea', (db, $: Arguments<Person & { ideaId: number }>) =>
  boardsOfModerator(db, $.accountId, $.userId).where('b.id', '=', b =>
    b
      .selectFrom('ideas as i')
      .select('i.board_id')
      .where(i => i.and({ 'i.account_id': $.accountId, 'i.id': $.ideaId })),
  ),
);

const selectBySlug = query('select_moderator_by_slug', (db, $: Arguments<Person & { slug: string }>) =>
  boardsOfModerator(db, $.accountId, $.userId).where('b.slug', '=', $.slug),
);

/**
 * Returns a person as the moderator of a board. The board is given by its slug or by one of its ideas. Throws not_found
 * if the account has no such board or idea, or if the person is not an owner, admin or moderator.
 */
export async function findModerator(
  db: Queryable,
  { accountId, userId }: Person,
  board: { slug: string } | { ideaId: number },
): Promise<Actor> {
  const [row] =
    'slug' in board
      ? await db.query(selectBySlug, { accountId, userId, slug: board.slug })
      : await db.query(selectByIdea, { accountId, userId, ideaId: board.ideaId });
  if (!row) throw new DomainError('not_found');
  const { board_id: boardId, voter_id: voterId } = row;
  return { accountId, boardId, userId, tokenId: null, voterId: voterId ?? noVoter, isModerator: true };
}
