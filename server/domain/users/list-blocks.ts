import type { InferResult, Kysely } from 'kysely';
import type { QueryBuilding } from '../../database/database.ts';
import type { Tables } from '../../database/tables.ts';
import { cutPage, type Page, type Place } from '../pagination.ts';

/** The role is null for a person who is no member. */
export type BlockView = InferResult<ReturnType<typeof blocksOf>>[number];

function blocksOf(db: Kysely<Tables>, accountId: number) {
  return db
    .selectFrom('user_blocks as b')
    .innerJoin('users as u', 'u.id', 'b.user_id')
    .leftJoin('memberships as m', join => join.on('m.account_id', '=', accountId).onRef('m.user_id', '=', 'b.user_id'))
    .where('b.account_id', '=', accountId)
    .select(['b.user_id', 'u.name', 'm.role', 'b.reason', 'b.created_at']);
}

/** Lists the people who are blocked in an account, the newest block first. */
export async function listBlocks({ db }: QueryBuilding, accountId: number, place: Place): Promise<Page<BlockView>> {
  const { cursor, perPage } = place;
  const blocks = blocksOf(db, accountId);
  const remaining = cursor
    ? blocks.where(b => b(b.refTuple('b.created_at', 'b.user_id'), '<', b.tuple(String(cursor.key), cursor.id)))
    : blocks;
  const rows = await remaining
    .orderBy('b.created_at', 'desc')
    .orderBy('b.user_id', 'desc')
    .limit(perPage + 1)
    .execute();
  return cutPage(rows, place, block => ({ sort: 'newest', key: block.created_at, id: block.user_id }));
}
