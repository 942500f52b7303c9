import { activeSpan } from '../observability/active-span.ts';
import type { Queryable } from './database.ts';
import { integer, json, nullable, sql, text, time } from './sql.ts';

export interface NewJob {
  task: string;
  payload: unknown;
  /** The name of a queue. Jobs of the same queue run one after the other. */
  queueName?: string;
  /** The earliest time to run the job. Default: now. */
  runAt?: Date | undefined;
  /** The maximum number of attempts. Default: 25. */
  maxAttempts?: number;
  /** A key for the job. A new job replaces a waiting job with the same key. */
  key?: string | undefined;
}

const addJobStatement = sql(
  'add_job',
  {
    arguments: {
      task: text(),
      payload: json(),
      queueName: nullable(text()),
      runAt: nullable(time()),
      maxAttempts: nullable(integer()),
      key: nullable(text()),
    },
    row: {},
  },
  `select from graphile_worker.add_job(
    $task, $payload, queue_name => $queueName, run_at => $runAt, max_attempts => $maxAttempts, job_key => $key
  )`,
);

/** Adds a job. A worker runs it after the transaction has committed. */
export async function addJob(db: Queryable, { task, payload, queueName, runAt, maxAttempts, key }: NewJob) {
  await db.query(addJobStatement, {
    task,
    payload: JSON.stringify(withTraceparent(payload)),
    queueName: queueName ?? null,
    runAt: runAt ?? null,
    maxAttempts: maxAttempts ?? null,
    key: key ?? null,
  });
}

/**
 * Lets the job continue the active trace. An array as the payload contains several entries, such as notifications of
 * different events. So an array stays unchanged.
 */
function withTraceparent(payload: unknown): unknown {
  const traceparent = activeSpan()?.traceparent;
  if (traceparent === undefined || Array.isArray(payload) || payload === null || typeof payload !== 'object')
    return payload;
  return { ...payload, traceparent };
}
