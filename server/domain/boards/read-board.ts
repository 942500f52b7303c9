import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import { DomainError } from '../domain-error.ts';
import { boardsOfMember, memberActor } from '../members/find-actor.ts';
import type { Actor, ReadOperation } from '../operation.ts';

export type BoardView = RowOf<typeof selectBoard>;

const selectBoard = query('select_board', (db, $: Arguments<{ accountId: number; boardId: number }>) =>
  db
    .selectFrom('boards as b')
    .select(['b.id', 'b.slug', 'b.name', 'b.description', 'b.is_frozen', 'b.pre_moderation'])
    .select(['b.submissions_open_at', 'b.submissions_close_at', 'b.voting_open_at', 'b.voting_close_at'])
    .select(b => [
      jsonArrayFrom(
        b
          .selectFrom('statuses as s')
          .select(['s.key', 's.category', 's.label', 's.is_hidden', 's.allow_votes', 's.allow_comments'])
          .where(s => s.and({ 's.account_id': $.accountId, 's.board_id': $.boardId }))
          .orderBy('s.position')
          .orderBy('s.id'),
      ).as('statuses'),
      jsonArrayFrom(
        b
          .selectFrom('tags as t')
          .select(['t.id', 't.name', 't.color'])
          .where(t => t.and({ 't.account_id': $.accountId, 't.board_id': $.boardId }))
          .orderBy(tag => tag.fn('lower', ['t.name']))
          .orderBy('t.id'),
      ).as('tags'),
    ])
    .where(b => b.and({ 'b.account_id': $.accountId, 'b.id': $.boardId })),
);

export async function readBoard(op: ReadOperation): Promise<BoardView> {
  const { accountId, boardId } = op.actor;
  const [board] = await op.query(selectBoard, { accountId, boardId });
  if (!board) throw new DomainError('not_found');
  return board;
}

const selectBoardAge = query('select_board_age', (db, $: Arguments<{ accountId: number; boardId: number }>) =>
  db
    .selectFrom('boards as b')
    .select('b.created_at')
    .where(b => b.and({ 'b.account_id': $.accountId, 'b.id': $.boardId })),
);

/** Returns the time when a board was created. */
export async function readBoardAge(op: ReadOperation): Promise<string> {
  const { accountId, boardId } = op.actor;
  const [board] = await op.query(selectBoardAge, { accountId, boardId });
  if (!board) throw new DomainError('not_found');
  return board.created_at;
}

interface PersonWithAccounts {
  userId: number;
  accountIds: readonly number[];
}

const visitor: PersonWithAccounts = { userId: 0, accountIds: [] };

/**
 * Selects the boards with a given slug: the public board, and boards of the given accounts. Also selects the user's
 * membership in each board's account.
 */
const selectBoardsBySlug = query('select_boards_by_slug', (db, $: Arguments<PersonWithAccounts & { slug: string }>) =>
  db
    .selectFrom('boards as o')
    .leftJoinLateral(
      boardsOfMember(db, sql.ref('o.account_id'), $.userId).where('b.id', '=', sql.ref<number>('o.id')).as('own'),
      join => join.onTrue(),
    )
    .select(['o.id', 'o.account_id', 'o.is_public', 'own.voter_id', 'own.is_moderator'])
    .where('o.slug', '=', $.slug)
    .where(o => o.or([o('o.is_public', '=', true), o('o.account_id', '=', o.fn.any($.accountIds))]))
    // Sorts a public board first. Two public boards never have the same slug, so at most one of the found boards is
    // public.
    .orderBy('o.is_public', 'desc')
    .orderBy('o.account_id'),
);

/** A board that a person may read. */
export interface OpenedBoard {
  id: number;
  accountId: number;
  isPublic: boolean;
  /**
   * The person as a member of the board's account. Undefined for people who are not members, and for blocked members.
   */
  member: Actor | undefined;
}

/**
 * Finds the boards with a given slug that a person may read: the public board, and boards of the person's accounts. The
 * result contains no private board of another account, so that visitors cannot learn that such a board exists.
 */
export async function findBoards(
  database: Queryable,
  slug: string,
  { userId, accountIds } = visitor,
): Promise<OpenedBoard[]> {
  const rows = await database.query(selectBoardsBySlug, { slug, userId, accountIds });
  return rows.map(({ id, account_id: accountId, is_public: isPublic, voter_id, is_moderator }) => ({
    id,
    accountId,
    isPublic,
    member:
      is_moderator === null ? undefined : memberActor({ accountId, userId }, { board_id: id, voter_id, is_moderator }),
  }));
}

export function checkNotFrozen(board: { is_frozen: boolean }) {
  if (board.is_frozen) throw new DomainError('board_frozen');
}

/** Throws if ideas cannot be submitted now. The submission window includes its opening but not its closing time. */
export function checkSubmissions(
  board: Pick<BoardView, 'is_frozen' | 'submissions_open_at' | 'submissions_close_at'>,
  now: Date,
) {
  checkNotFrozen(board);
  if (board.submissions_open_at !== null && now < new Date(board.submissions_open_at)) {
    throw new DomainError('submissions_not_open_yet');
  }
  if (board.submissions_close_at !== null && now >= new Date(board.submissions_close_at)) {
    throw new DomainError('submissions_closed');
  }
}
