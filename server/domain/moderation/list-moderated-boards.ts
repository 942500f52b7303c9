import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';

export interface ModeratedBoard {
  id: number;
  slug: string;
  name: string;
  is_frozen: boolean;
  /** How many ideas await approval; no more than maxPendingCount are counted. */
  pending_count: number;
}

/** To count a long queue to its end would cost more than the page that shows its beginning. */
export const maxPendingCount = 100;

const selectModeratedBoards = plannedStatement<ModeratedBoard>(`
  select b.id, b.slug, b.name, b.is_frozen, (
    select count(*) from (
      select from statuses s cross join lateral (
        select from ideas i where i.status_id = s.id and i.moderation_state = 'pending' limit ${maxPendingCount}
      ) i
      where s.board_id = b.id
      limit ${maxPendingCount}
    ) pending
  ) as pending_count
  from boards b
  where b.account_id = $1
  order by b.slug`);

/** Lists the boards of an account, for those who choose one to moderate. */
export function listModeratedBoards(db: Queryable, accountId: number): Promise<ModeratedBoard[]> {
  return db.query(selectModeratedBoards, [accountId]);
}
