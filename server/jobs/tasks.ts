import type { TaskList } from 'graphile-worker';

/** What the worker does, by the name of the job. A task may run again after a crash, so each can. */
export const tasks = {
  /** Tells the readiness probe that the cron runs. */
  heartbeat: async (_payload, { query }) => {
    await query(`insert into heartbeats (name, recorded_at) values ('cron', now())
      on conflict (name) do update set recorded_at = greatest(heartbeats.recorded_at, excluded.recorded_at)`);
  },

  /** Removes counters and stored answers whose time is over. */
  clear_expired: async (_payload, { query }) => {
    await query('delete from rate_limits where expires_at < now()');
    await query('delete from idempotency_keys where expires_at < now()');
  },
} satisfies TaskList;

/** When each periodic task runs, in UTC. */
export const crontab = `
* * * * * heartbeat ?max=1
*/10 * * * * clear_expired ?max=1
`;
