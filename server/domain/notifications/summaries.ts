import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { MailFrequency } from '../../entities/user.ts';

/** How often a summary is mailed. */
export type SummaryFrequency = Exclude<MailFrequency, 'immediately'>;

/**
 * A summary leaves out notifications that are older than this number of days. The number is larger than the time
 * between two summaries, because a worker may have been stopped for a day.
 */
export const summaryDays = { daily: 3, weekly: 10 } as const satisfies Record<SummaryFrequency, number>;

/** The members of an account whose summary is one job. */
export interface SummaryToMail {
  account_id: number;
  user_id: number;
  frequency: SummaryFrequency;
}

/** The number of people whose jobs one statement adds. */
const batchSize = 500;

/**
 * Adds a job for each account with notifications for a person that are neither read nor mailed. Searches all accounts,
 * because a scheduled job runs the statement. If a job of an earlier run still waits, it stays the only job.
 */
const addJobs = query(
  'add_summary_jobs',
  (db, $: Arguments<{ frequency: SummaryFrequency; days: number; after: number }>) =>
    db
      .with('people', cte =>
        cte
          .selectFrom('users as u')
          .select('u.id')
          .where('u.mail_frequency', '=', $.frequency)
          .where('u.notification_email', 'is not', null)
          .where('u.id', '>', $.after)
          .orderBy('u.id')
          .limit(sql.lit(batchSize)),
      )
      .with('due', cte =>
        cte
          .selectFrom('people as p')
          .innerJoin('notifications as n', 'n.user_id', 'p.id')
          .select(['n.account_id', 'n.user_id'])
          .distinct()
          .where('n.mailed_at', 'is', null)
          .where('n.read_at', 'is', null)
          .where('n.created_at', '>', sql<string>`now() - ${$.days}::int * interval '1 day'`),
      )
      .with('added', cte =>
        cte.selectFrom('due as d').select(
          sql`graphile_worker.add_job(
            'mail_summary',
            json_build_object('account_id', d.account_id, 'user_id', d.user_id, 'frequency', ${$.frequency}::text),
            job_key => format('summary:%s:%s', d.account_id, d.user_id)
          )`.as('job'),
        ),
      )
      .selectFrom('people as p')
      .select(p => [p.fn.max<number | null>('p.id').as('last_id'), p.fn.countAll<number>().as('people')])
      .select(p =>
        p
          .selectFrom('added')
          .select(a => a.fn.count<number>('added.job').as('jobs'))
          .as('jobs'),
      ),
  { isPrepared: false },
);

/** Adds the jobs that mail the daily or the weekly summaries. */
export async function addSummaries(queue: Queryable, frequency: SummaryFrequency): Promise<void> {
  let after = 0;
  for (;;) {
    const [batch] = await queue.query(addJobs, { frequency, days: summaryDays[frequency], after });
    if (!batch || batch.people < batchSize || batch.last_id === null) return;
    after = batch.last_id;
  }
}
