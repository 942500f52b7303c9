import { sql } from 'kysely';
import type { Queryable } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import type { MailFrequency } from '../../entities/user.ts';

/** How often a summary is mailed. */
export type SummaryFrequency = Exclude<MailFrequency, 'immediately'>;

/**
 * The time after which the notifications of a summary were created. The period is longer than the time between two
 * weekly summaries, because a worker may have been stopped for a day.
 */
export const startOfSummary = sql<string>`now() - interval '10 days'`;

/** The member of an account whose summary is one job. */
export interface SummaryToMail {
  account_id: number;
  user_id: number;
  /** How often the person gets mail. With `immediately`, this is the last summary. */
  frequency: MailFrequency;
}

/** The number of people whose jobs one statement adds. */
const batchSize = 500;

interface Recipients {
  /** How often these people get mail until now. */
  frequency: SummaryFrequency;
  /** How often these people get mail from now on. */
  next: MailFrequency;
  /** The people whose ids are greater than this id. */
  after: number;
  /** The greatest id of these people. */
  last: number;
}

/**
 * Adds a job for each account with notifications for a person that are neither read nor mailed. Searches all accounts,
 * because a person chooses one frequency for all of them. If a job of an earlier run still waits, it stays the only job.
 */
const addJobs = query(
  'add_summary_jobs',
  (db, $: Arguments<Recipients>) =>
    db
      .with('people', cte =>
        cte
          .selectFrom('users as u')
          .select('u.id')
          .where('u.mail_frequency', '=', $.frequency)
          .where('u.notification_email', 'is not', null)
          .where('u.id', '>', $.after)
          .where('u.id', '<=', $.last)
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
          .where('n.created_at', '>', startOfSummary),
      )
      .with('added', cte =>
        cte.selectFrom('due as d').select(
          sql`graphile_worker.add_job(
            'mail_summary',
            json_build_object('account_id', d.account_id, 'user_id', d.user_id, 'frequency', ${$.next}::text),
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
    const people = { frequency, next: frequency, after, last: Number.MAX_SAFE_INTEGER };
    const [batch] = await queue.query(addJobs, people);
    if (!batch || batch.people < batchSize || batch.last_id === null) return;
    after = batch.last_id;
  }
}

/**
 * Adds the jobs that mail a person the last summaries, because the person gets each notification immediately from now
 * on. Without them, the notifications that wait for a summary would never be mailed. The caller must have locked the
 * user before. So no other transaction can still add a notification that waits for a summary.
 */
export async function addLastSummaries(queue: Queryable, userId: number, frequency: SummaryFrequency): Promise<void> {
  await queue.query(addJobs, { frequency, next: 'immediately', after: userId - 1, last: userId });
}
