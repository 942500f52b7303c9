import type { ExpressionBuilder, InferResult } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import type { Tables } from '../../database/tables.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { countAll, countOf } from '../bounded-count.ts';
import type { BoardOfAccount } from './find-board.ts';

export type BoardListing = InferResult<ReturnType<typeof boardListings>>[number];

function boardListings({ db }: Administration, accountId: number) {
  return db
    .selectFrom('boards as b')
    .select(['b.id', 'b.slug', 'b.name', 'b.description', 'b.is_frozen', 'b.pre_moderation', 'b.is_public'])
    .select(['b.submissions_open_at', 'b.submissions_close_at', 'b.voting_open_at', 'b.voting_close_at'])
    .select(b => countAll(pendingOn(b, accountId)).as('pending_count'))
    .select(['b.created_at', 'b.updated_at'])
    .where('b.account_id', '=', accountId)
    .orderBy('b.slug');
}

/** The ideas that await approval on a board b, to be counted. */
function pendingOn(b: ExpressionBuilder<Tables & { b: Tables['boards'] }, 'b'>, accountId: number) {
  return b
    .selectFrom('statuses as s')
    .innerJoin('ideas as i', join => join.onRef('i.status_id', '=', 's.id').on('i.account_id', '=', accountId))
    .where('s.account_id', '=', accountId)
    .whereRef('s.board_id', '=', 'b.id')
    .where('i.moderation_state', '=', 'pending');
}

/** Lists the boards of an account. */
export function listBoards(admin: Administration, accountId: number): Promise<BoardListing[]> {
  return boardListings(admin, accountId).execute();
}

export function readBoardListing(admin: Administration, board: BoardOfAccount): Promise<BoardListing> {
  return boardListings(admin, board.accountId)
    .where('b.id', '=', board.id)
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', 'The board is gone'));
}

/** A board, for those who choose one. */
export type NamedBoard = Pick<BoardListing, 'id' | 'slug' | 'name'>;

/** Lists the boards of an account by slug, with their names alone. */
export function listBoardNames(admin: Administration, accountId: number): Promise<NamedBoard[]> {
  return admin.db
    .selectFrom('boards')
    .select(['id', 'slug', 'name'])
    .where('account_id', '=', accountId)
    .orderBy('slug')
    .execute();
}

/** A board as a list of boards shows it. */
export type BoardOverview = InferResult<ReturnType<typeof boardOverviews>>[number];

/** Like boardListings, but a count is quick where much awaits approval. */
function boardOverviews({ db }: Administration, accountId: number) {
  return db
    .selectFrom('boards as b')
    .select(['b.id', 'b.slug', 'b.name', 'b.is_frozen', 'b.pre_moderation', 'b.is_public'])
    .select(['b.submissions_open_at', 'b.submissions_close_at', 'b.voting_open_at', 'b.voting_close_at'])
    .select(b => countOf(pendingOn(b, accountId)).as('pending_count'))
    .where('b.account_id', '=', accountId)
    .orderBy('b.slug');
}

/** Which boards are listed: all, or only the public ones, or only those with ideas that await approval. */
interface Choice {
  isPublic?: boolean;
  hasPending?: boolean;
  limit: number;
  offset?: number;
}

/** Lists some of the boards of an account by slug, and how much awaits approval, counted as far as countLimit. */
export function listBoardOverviews(
  admin: Administration,
  accountId: number,
  { isPublic = false, hasPending = false, limit, offset = 0 }: Choice,
): Promise<BoardOverview[]> {
  return boardOverviews(admin, accountId)
    .$if(isPublic, boards => boards.where('b.is_public', '=', true))
    .$if(hasPending, boards => boards.where(b => b(countOf(pendingOn(b, accountId), 1), '>', 0)))
    .limit(limit)
    .offset(offset)
    .execute();
}

export type ModeratedBoard = Awaited<ReturnType<typeof listModeratedBoards>>[number];

/** To count a long queue to its end would cost more than the page that shows its beginning. */
export const maxPendingCount = 100;

/** Lists the boards of an account for those who choose one to moderate. Counts at most maxPendingCount pending ideas. */
export function listModeratedBoards({ db }: QueryBuilding, accountId: number) {
  return db
    .selectFrom('boards as b')
    .select(['b.id', 'b.slug', 'b.name', 'b.is_frozen'])
    .select(b => countOf(pendingOn(b, accountId), maxPendingCount).as('pending_count'))
    .where('b.account_id', '=', accountId)
    .orderBy('b.slug')
    .execute();
}
