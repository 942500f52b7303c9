import type { InferResult } from 'kysely';
import type { Administration } from '../administration.ts';
import { countOf } from '../bounded-count.ts';
import { pendingOn } from './list-boards.ts';

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
