import type { Queryable } from '../../database/database.ts';
import { plannedStatement } from '../../database/statement.ts';
import type { Role } from '../../entities/membership.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';

export interface BlockView {
  user_id: number;
  name: string;
  /** Null for whoever is no member. */
  role: Role | null;
  reason: string;
  created_at: string;
}

const selectBlocks = plannedStatement<BlockView>(`
  select b.user_id, u.name, m.role, b.reason, b.created_at
  from user_blocks b
  join users u on u.id = b.user_id
  left join memberships m on m.account_id = b.account_id and m.user_id = b.user_id
  where b.account_id = $1 and ($2::timestamptz is null or (b.created_at, b.user_id) < ($2, $3::bigint))
  order by b.created_at desc, b.user_id desc
  limit $4`);

/** Lists who is blocked in an account, the last one first. */
export async function listBlocks(db: Queryable, accountId: number, place: Place): Promise<Page<BlockView>> {
  const values = [accountId, place.cursor?.key ?? null, place.cursor?.id ?? null, place.perPage + 1];
  const rows = await db.query(selectBlocks, values);
  return cutPage(rows, place, block => ({ sort: 'newest', key: block.created_at, id: block.user_id }));
}
