import type { InferResult } from 'kysely';
import { type Administration, AdministrationError } from '../administration.ts';
import type { BoardOfAccount } from '../boards/find-board.ts';
import { countOf } from '../bounded-count.ts';
import { quote } from '../fields.ts';

export type StatusListing = InferResult<ReturnType<typeof statusListings>>[number];

/** The statuses of a board. Their positions are numbered from 1. */
function statusListings({ db }: Administration, board: BoardOfAccount) {
  return db
    .selectFrom('statuses as s')
    .select(['s.id', 's.key', 's.category', 's.label', 's.is_hidden', 's.allow_votes', 's.allow_comments'])
    .select(s =>
      s.fn
        .agg<number>('row_number')
        .over(over => over.orderBy('s.position').orderBy('s.id'))
        .as('position'),
    )
    .where('s.account_id', '=', board.accountId)
    .where('s.board_id', '=', board.id);
}

/** Lists the status registry of a board, in its order. */
export function listStatuses(admin: Administration, board: BoardOfAccount): Promise<StatusListing[]> {
  return statusListings(admin, board).orderBy('s.position').orderBy('s.id').execute();
}

export type StatusInUse = InferResult<ReturnType<typeof statusesInUse>>[number];

/** An index of its own answers each of the two counts. Merged and rejected ideas are in no list, and are not counted. */
function statusesInUse(admin: Administration, board: BoardOfAccount) {
  const statuses = statusListings(admin, board).select(s => s.fn.countAll<number>().over().as('status_count'));
  return admin.db
    .selectFrom(statuses.as('s'))
    .selectAll('s')
    .select(s => {
      const ideas = s
        .selectFrom('ideas as i')
        .where('i.account_id', '=', board.accountId)
        .whereRef('i.status_id', '=', 's.id');
      const published = ideas.where('i.moderation_state', '=', 'published').where('i.merged_into_id', 'is', null);
      const pending = ideas.where('i.moderation_state', '=', 'pending');
      return [countOf(published).as('idea_count'), countOf(pending).as('pending_count')];
    })
    .orderBy('s.position');
}

/** Lists some of the statuses of a board, in their order, and how many ideas have each, counted as far as countLimit. */
export function listStatusesInUse(
  admin: Administration,
  board: BoardOfAccount,
  { limit, offset }: { limit: number; offset: number },
): Promise<StatusInUse[]> {
  return statusesInUse(admin, board).limit(limit).offset(offset).execute();
}

export async function readStatusInUse(admin: Administration, board: BoardOfAccount, key: string): Promise<StatusInUse> {
  const status = await statusesInUse(admin, board).where('s.key', '=', key).executeTakeFirst();
  if (!status) throw new AdministrationError('not_found', `The board has no status ${quote(key)}`);
  return status;
}
