import type { QueryBuilding } from '../../database/database.ts';

/** A rejected idea, with the reason that its author was told. */
export type RejectedIdea = NonNullable<Awaited<ReturnType<typeof readRejectedIdea>>>;

/** Reads a rejected idea of an account, which only its moderators see; undefined where there is none. */
export function readRejectedIdea({ db }: QueryBuilding, accountId: number, ideaId: number) {
  return db
    .selectFrom('ideas as i')
    .innerJoin('boards as b', join => join.onRef('b.id', '=', 'i.board_id').on('b.account_id', '=', accountId))
    .innerJoin('users as u', 'u.id', 'i.author_id')
    .select(['i.id', 'i.title', 'i.body', 'i.author_id', 'i.created_at', 'i.updated_at as rejected_at'])
    .select(i => i.fn.coalesce('i.rejection_reason', i.val('')).as('reason'))
    .select(['b.slug as board_slug', 'b.name as board_name', 'u.name as author_name'])
    .where('i.account_id', '=', accountId)
    .where('i.id', '=', ideaId)
    .where('i.moderation_state', '=', 'rejected')
    .executeTakeFirst();
}
