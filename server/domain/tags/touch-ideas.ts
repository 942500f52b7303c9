import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';

/** The number of ideas that one job updates. The update of 1,000 ideas holds their locks for about 0.1 seconds. */
const batchSize = 1_000;

/** Adds jobs that increase the `updated_at` of all ideas with a tag. */
export const addTouchJobs = query(
  'add_jobs_for_ideas_of_tag',
  (db, $: Arguments<{ accountId: number; tagId: number }>) =>
    db
      .with('tagged', cte =>
        cte
          .selectFrom('idea_tags')
          .select('idea_id')
          .select(sql<number>`(row_number() over (order by idea_id) - 1) / ${sql.lit(batchSize)}`.as('batch'))
          .where(it => it.and({ account_id: $.accountId, tag_id: $.tagId })),
      )
      .selectFrom('tagged')
      .select(
        sql`graphile_worker.add_job(
          'touch_ideas', json_build_object('account_id', ${$.accountId}::bigint, 'idea_ids', json_agg(idea_id))
        )`.as('job'),
      )
      .groupBy('batch'),
);

interface Touched {
  accountId: number;
  ideaIds: readonly number[];
}

/** Skips deleted ideas, because clearOld removes a deleted idea 30 days after its last change. */
const touch = query('touch_ideas', (db, $: Arguments<Touched & { now: Date }>) =>
  db
    .with('locked', cte =>
      cte
        .selectFrom('ideas as i')
        .select('i.id')
        .where(i => i.and({ 'i.account_id': $.accountId, 'i.id': i.fn.any($.ideaIds) }))
        .where('i.moderation_state', '<>', 'deleted')
        .orderBy('i.id')
        .forNoKeyUpdate(),
    )
    .updateTable('ideas')
    .from('locked')
    .set({ updated_at: $.now })
    .where('ideas.account_id', '=', $.accountId)
    .whereRef('ideas.id', '=', 'locked.id'),
);

/** Increases the `updated_at` of ideas, because a tag of these ideas was removed from the board. */
export async function touchIdeas(db: Queryable, touched: Touched, now: Date): Promise<void> {
  await db.query(touch, { ...touched, now });
}
