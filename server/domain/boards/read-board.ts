import { type Expression, type ExpressionBuilder, type Kysely, sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query, type RowOf } from '../../database/query.ts';
import type { Tables } from '../../database/tables.ts';
import { moderatingRoles } from '../../entities/membership.ts';
import { DomainError } from '../domain-error.ts';
import { memberActor } from '../members/find-actor.ts';
import type { Actor, ReadOperation } from '../operation.ts';
import {
  readSessionWith,
  type SessionArguments,
  type SessionLookUp,
  type SignedInUser,
  sessionRows,
} from '../sign-in/session.ts';

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

/** Selects the boards with a slug, of all accounts. */
function boardsWithSlug(db: Kysely<Tables>, slug: Expression<string>) {
  return db
    .selectFrom('boards as o')
    .select(o => boardView(o, o.ref('o.account_id'), o.ref('o.id')))
    .select(['o.account_id', 'o.is_public'])
    .where('o.slug', '=', slug);
}

const selectPublicBoard = query('select_public_board', (db, $: Arguments<{ slug: string }>) =>
  boardsWithSlug(db, $.slug).where('o.is_public', '=', true),
);

/**
 * Selects a session together with the boards that have a slug and that are public or belong to an account of the user.
 * With two statements, a page would take a twentieth longer.
 */
const selectSessionWithBoards = query(
  'select_session_with_boards',
  (db, $: Arguments<SessionArguments & { slug: string }>) =>
    sessionRows(db, $).select(u => jsonArrayFrom(boardsOfUser(db, $.slug, u.ref('u.id'))).as('boards')),
);

function boardsOfUser(db: Kysely<Tables>, slug: Expression<string>, userId: Expression<number>) {
  const accounts = db.selectFrom('memberships as m').select('m.account_id').where('m.user_id', '=', userId);
  return (
    boardsWithSlug(db, slug)
      .leftJoin('voters as v', join => join.onRef('v.account_id', '=', 'o.account_id').on('v.user_id', '=', userId))
      .select('v.id as voter_id')
      .where(o =>
        o.or([o('o.is_public', '=', true), o('o.account_id', '=', o.fn.any(sql<number[]>`array(${accounts})`))]),
      )
      // Sorts a public board first. Two public boards never have the same slug, so at most one of the found boards is
      // public.
      .orderBy('o.is_public', 'desc')
      .orderBy('o.account_id')
  );
}

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

/** Finds the public board with a slug. */
export async function findPublicBoard(db: Queryable, slug: string): Promise<OpenedBoard | undefined> {
  const [row] = await db.query(selectPublicBoard, { slug });
  if (!row) return undefined;
  const { account_id: accountId, is_public: isPublic, ...view } = row;
  return { view, accountId, isPublic, member: undefined };
}

/**
 * Reads a session together with the boards that have a slug and that its user may read: the public board, and boards of
 * the accounts that the session reaches. The result contains no private board of another account, so that nobody can
 * learn that such a board exists.
 */
export async function readSessionWithBoards(
  db: Queryable,
  lookUp: SessionLookUp,
  slug: string,
): Promise<{ user: SignedInUser; boards: OpenedBoard[] } | undefined> {
  const found = await readSessionWith(db, lookUp, values => db.query(selectSessionWithBoards, { ...values, slug }));
  if (!found) return undefined;
  const { boards, ...user } = found;
  const opened = boards.map(({ account_id: accountId, is_public: isPublic, voter_id, ...view }) => {
    // The session reaches no account that blocks the user.
    const account = user.accounts.find(({ id }) => id === accountId);
    const is_moderator = moderatingRoles.some(role => role === account?.role);
    const member = { accountId, userId: user.id };
    return {
      view,
      accountId,
      isPublic,
      member: account && memberActor(member, { board_id: view.id, voter_id, is_moderator }),
    };
  });
  return { user, boards: opened.filter(({ isPublic, member }) => isPublic || member) };
}

export function checkNotFrozen(board: { is_frozen: boolean }) {
  if (board.is_frozen) throw new DomainError('board_frozen');
}

/**
 * The period for submitting ideas to a board, or for voting on ideas. Without an opening time, the period has no start.
 * Without a closing time, the period has no end.
 */
interface Window {
  openAt?: Date | string | null | undefined;
  closeAt?: Date | string | null | undefined;
}

/**
 * Returns the state of a submission or voting window. The window is already open at the instant `openAt`, and already
 * closed at the instant `closeAt`. For votes, the database function cast_vote has the same rule.
 */
export function stateOfWindow({ openAt, closeAt }: Window, now: Date): 'not_open_yet' | 'open' | 'closed' {
  if (openAt && now < new Date(openAt)) return 'not_open_yet';
  return closeAt && now >= new Date(closeAt) ? 'closed' : 'open';
}

/** Throws if ideas cannot be submitted now. */
export function checkSubmissions(
  board: Pick<BoardView, 'is_frozen' | 'submissions_open_at' | 'submissions_close_at'>,
  now: Date,
) {
  checkNotFrozen(board);
  const state = stateOfWindow({ openAt: board.submissions_open_at, closeAt: board.submissions_close_at }, now);
  if (state !== 'open') throw new DomainError(`submissions_${state}`);
}
