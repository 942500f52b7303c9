import { type Expression, type ExpressionBuilder, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { DomainError } from '../domain-error.ts';
import { boardsOfMember, memberActor } from '../members/find-actor.ts';
import type { Actor, ReadOperation } from '../operation.ts';

export type BoardView = RowOf<typeof selectBoard>;

const selectBoard = query('select_board', (db, $: Arguments<{ accountId: number; boardId: number }>) =>
  db
    .selectFrom('boards as o')
    .select(o => boardView(o, $.accountId, $.boardId))
    .where(o => o.and({ 'o.account_id': $.accountId, 'o.id': $.boardId })),
);

/** Selects a board with its statuses and tags. The board has the SQL alias `o`. */
function boardView(
  o: ExpressionBuilder<Tables & { o: Tables['boards'] }, 'o'>,
  accountId: Expression<number>,
  boardId: Expression<number>,
) {
  const statuses = o
    .selectFrom('statuses as s')
    .select(['s.key', 's.category', 's.label', 's.is_hidden', 's.allow_votes', 's.allow_comments'])
    .where(s => s.and({ 's.account_id': accountId, 's.board_id': boardId }))
    .orderBy('s.position')
    .orderBy('s.id');
  const tags = o
    .selectFrom('tags as t')
    .select(['t.id', 't.name', 't.color'])
    .where(t => t.and({ 't.account_id': accountId, 't.board_id': boardId }))
    .orderBy(tag => tag.fn('lower', ['t.name']))
    .orderBy('t.id');
  return [
    ...(['o.id', 'o.slug', 'o.name', 'o.description', 'o.is_frozen', 'o.pre_moderation', 'o.created_at'] as const),
    ...(['o.submissions_open_at', 'o.submissions_close_at', 'o.voting_open_at', 'o.voting_close_at'] as const),
    jsonArrayFrom(statuses).as('statuses'),
    jsonArrayFrom(tags).as('tags'),
  ] as const;
}

export async function readBoard(op: ReadOperation): Promise<BoardView> {
  const { accountId, boardId } = op.actor;
  const [board] = await op.query(selectBoard, { accountId, boardId });
  if (!board) throw new DomainError('not_found');
  return board;
}

interface PersonWithAccounts {
  userId: number;
  accountIds: readonly number[];
}

const visitor: PersonWithAccounts = { userId: 0, accountIds: [] };

/**
 * Selects the boards with a given slug: the public board, and boards of the given accounts. Also selects the user's
 * membership in each board's account. Selects the whole boards, because most pages of a board need its statuses and
 * tags, and a second statement would take a tenth of the time of the page.
 */
const selectBoardsBySlug = query('select_boards_by_slug', (db, $: Arguments<PersonWithAccounts & { slug: string }>) =>
  db
    .selectFrom('boards as o')
    .leftJoinLateral(
      boardsOfMember(db, sql.ref('o.account_id'), $.userId).where('b.id', '=', sql.ref<number>('o.id')).as('own'),
      join => join.onTrue(),
    )
    .select(o => boardView(o, o.ref('o.account_id'), o.ref('o.id')))
    .select(['o.account_id', 'o.is_public', 'own.voter_id', 'own.is_moderator'])
    .where('o.slug', '=', $.slug)
    .where(o => o.or([o('o.is_public', '=', true), o('o.account_id', '=', o.fn.any($.accountIds))]))
    // Sorts a public board first. Two public boards never have the same slug, so at most one of the found boards is
    // public.
    .orderBy('o.is_public', 'desc')
    .orderBy('o.account_id'),
);

/** A board that a person may read. */
export interface OpenedBoard {
  view: BoardView;
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
  return rows.map(({ account_id: accountId, is_public: isPublic, voter_id, is_moderator, ...view }) => ({
    view,
    accountId,
    isPublic,
    member:
      is_moderator === null
        ? undefined
        : memberActor({ accountId, userId }, { board_id: view.id, voter_id, is_moderator }),
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
