import type { ExpressionBuilder } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import type { Tables } from '../../database/tables.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { countAll, countBounded } from '../bounded-count.ts';
import type { BoardOfAccount } from './find-board.ts';

function boardsOf({ db }: Administration, accountId: number, count: typeof countAll) {
  return db
    .selectFrom('boards as b')
    .select([
      'b.id',
      'b.slug',
      'b.name',
      'b.description',
      'b.is_frozen',
      'b.pre_moderation',
      'b.is_public',
      'b.language',
    ])
    .select(['b.submissions_open_at', 'b.submissions_close_at', 'b.voting_open_at', 'b.voting_close_at'])
    .select(b => count(pendingOn(b, accountId)).as('pending_count'))
    .select(['b.created_at', 'b.updated_at'])
    .where('b.account_id', '=', accountId)
    .orderBy('b.slug');
}

function pendingOn(b: ExpressionBuilder<Tables & { b: Tables['boards'] }, 'b'>, accountId: number) {
  return b
    .selectFrom('statuses as s')
    .innerJoin('ideas as i', join => join.onRef('i.status_id', '=', 's.id').on('i.account_id', '=', accountId))
    .where('s.account_id', '=', accountId)
    .whereRef('s.board_id', '=', 'b.id')
    .where('i.moderation_state', '=', 'pending');
}

export type BoardListing = Awaited<ReturnType<typeof listBoards>>[number];

export function listBoards(admin: Administration, accountId: number) {
  return boardsOf(admin, accountId, countAll).execute();
}

export function readBoardListing(admin: Administration, board: BoardOfAccount): Promise<BoardListing> {
  return boardsOf(admin, board.accountId, countAll)
    .where('b.id', '=', board.id)
    .executeTakeFirstOrThrow(() => new AdministrationError('not_found', t('refusals.board.gone')));
}

export type NamedBoard = Pick<BoardListing, 'id' | 'slug' | 'name'>;

export function listBoardNames({ db }: Administration, accountId: number): Promise<NamedBoard[]> {
  return db
    .selectFrom('boards')
    .select(['id', 'slug', 'name'])
    .where('account_id', '=', accountId)
    .orderBy('slug')
    .execute();
}

/** The boards to list: public boards, boards with pending ideas, or all boards. */
interface Choice {
  isPublic?: boolean;
  hasPending?: boolean;
  limit: number;
  offset?: number;
}

/** Lists boards with their numbers of pending ideas. A number is exact up to countLimit. */
export function listBoardOverviews(
  admin: Administration,
  accountId: number,
  { isPublic = false, hasPending = false, limit, offset = 0 }: Choice,
): Promise<BoardListing[]> {
  return boardsOf(admin, accountId, countBounded)
    .$if(isPublic, boards => boards.where('b.is_public', '=', true))
    .$if(hasPending, boards => boards.where(b => b(countBounded(pendingOn(b, accountId), 1), '>', 0)))
    .limit(limit)
    .offset(offset)
    .execute();
}

export type ModeratedBoard = Awaited<ReturnType<typeof listModeratedBoards>>[number];

/**
 * The page of the approval queue counts pending ideas up to this number. An exact count would take longer than the rest
 * of the page.
 */
export const maxPendingCount = 100;

/** Lists boards with the numbers of their pending ideas, counted up to maxPendingCount. */
export function listModeratedBoards({ db }: QueryBuilding, accountId: number) {
  return db
    .selectFrom('boards as b')
    .select(['b.id', 'b.slug', 'b.name', 'b.is_frozen'])
    .select(b => countBounded(pendingOn(b, accountId), maxPendingCount).as('pending_count'))
    .where('b.account_id', '=', accountId)
    .orderBy('b.slug')
    .execute();
}
