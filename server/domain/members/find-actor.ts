import type { Expression, Kysely } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { moderatingRoles } from '../../entities/membership.ts';
import { DomainError } from '../domain-error.ts';
import { type Actor, noVoter } from '../operation.ts';
import { isBlocked, type UserInAccount } from './authority.ts';

/**
 * Selects the boards of an account for one of its members who is not blocked. Also selects the id of the voter row that
 * the member's votes refer to. This id is null until the member votes for the first time.
 */
function boardsOfMember(db: Kysely<Tables>, accountId: Expression<number>, userId: Expression<number>) {
  return db
    .selectFrom('memberships as m')
    .innerJoin('boards as b', join => join.on('b.account_id', '=', accountId))
    .leftJoin('voters as v', join => join.on('v.account_id', '=', accountId).on('v.user_id', '=', userId))
    .select(['b.id as board_id', 'v.id as voter_id'])
    .select(m => m('m.role', 'in', moderatingRoles).$castTo<boolean>().as('is_moderator'))
    .where(m => m.and({ 'm.account_id': accountId, 'm.user_id': userId }))
    .where(m => m.not(isBlocked(accountId, userId)));
}

const selectByIdea = query('select_member_by_idea', (db, $: Arguments<UserInAccount & { ideaId: number }>) =>
  boardsOfMember(db, $.accountId, $.userId).where('b.id', '=', b =>
    b
      .selectFrom('ideas as i')
      .select('i.board_id')
      .where(i => i.and({ 'i.account_id': $.accountId, 'i.id': $.ideaId })),
  ),
);

const selectBySlug = query('select_member_by_slug', (db, $: Arguments<UserInAccount & { slug: string }>) =>
  boardsOfMember(db, $.accountId, $.userId).where('b.slug', '=', $.slug),
);

type BoardOrIdea = { slug: string } | { ideaId: number };

/**
 * Finds the actor for a member of a board's account. The board is given by its slug or by the id of one of its ideas.
 * Returns undefined if no board of the account matches, or if the person is blocked or is not a member.
 */
export async function findMember(
  db: Queryable,
  { accountId, userId }: UserInAccount,
  board: BoardOrIdea,
): Promise<Actor | undefined> {
  const [row]: RowOf<typeof selectBySlug>[] =
    'slug' in board
      ? await db.query(selectBySlug, { accountId, userId, slug: board.slug })
      : await db.query(selectByIdea, { accountId, userId, ideaId: board.ideaId });
  return row && memberActor({ accountId, userId }, row);
}

/** Builds the actor for a member from a row of boardsOfMember. */
export function memberActor(
  { accountId, userId }: UserInAccount,
  { board_id: boardId, voter_id: voterId, is_moderator: isModerator }: RowOf<typeof selectBySlug>,
): Actor {
  return { accountId, boardId, userId, tokenId: null, voterId: voterId ?? noVoter, isModerator };
}

/**
 * Finds the actor for a moderator of a board. Throws not_found unless the person is an owner, admin or moderator of the
 * account and is not blocked there.
 */
export async function findModerator(db: Queryable, person: UserInAccount, board: BoardOrIdea): Promise<Actor> {
  const actor = await findMember(db, person, board);
  if (!actor?.isModerator) throw new DomainError('not_found');
  return actor;
}
