import type { InferResult } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import { pendingOn } from '../boards/list-boards.ts';
import { countOf } from '../bounded-count.ts';

export type ModeratedBoard = InferResult<ReturnType<typeof moderatedBoards>>[number];

/** To count a long queue to its end would cost more than the page that shows its beginning. */
export const maxPendingCount = 100;

function moderatedBoards({ db }: QueryBuilding, accountId: number) {
  return db
    .selectFrom('boards as b')
    .select(['b.id', 'b.slug', 'b.name', 'b.is_frozen'])
    .select(b => countOf(pendingOn(b, accountId), maxPendingCount).as('pending_count'))
    .where('b.account_id', '=', accountId)
    .orderBy('b.slug');
}

/** Lists the boards of an account for those who choose one to moderate. Counts at most maxPendingCount pending ideas. */
export function listModeratedBoards(db: QueryBuilding, accountId: number): Promise<ModeratedBoard[]> {
  return moderatedBoards(db, accountId).execute();
}
