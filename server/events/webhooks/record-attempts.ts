import type { Database, Queryable, Transaction } from '../../database/database.ts';
import { statement } from '../../database/statement.ts';
import { batchCalls } from '../../jobs/batch-calls.ts';
import type { AuditLog } from '../../observability/audit-log.ts';
import { disableEndpoint } from './disable-endpoint.ts';
import { retryDelayMs } from './retry-schedule.ts';
import { type Lane, wakeLane } from './wake-lanes.ts';

/** One try of a delivery: a status with the beginning of the answer, or an error. */
export interface Attempt {
  deliveryId: number;
  /** When the delivery was due, as it was read. */
  dueAt: string;
  attemptedAt: Date;
  durationMs: number;
  status: number | null;
  error: string | null;
  response: string | null;
  /** Whether it was the one try that a failing endpoint has. */
  isProbe: boolean;
}

export interface AttemptRecorder {
  /** Answers whether the endpoint had been failing. */
  recordSuccess(attempt: Attempt): Promise<boolean>;
  recordFailure(attempt: Attempt, lane: Lane, attemptCount: number): Promise<void>;
}

/** What the endpoint answers to say that it wants no more (Standard Webhooks). */
const gone = 410;
const maxFailingDays = 5;

/**
 * Whether somebody had the delivery sent again while this try of it was under way: then it stays as they left it, and is
 * sent once more, whatever came of the try.
 */
const isAskedAnew = (dueAt: string) => `(d.state = 'pending' and d.next_attempt_at is distinct from ${dueAt})`;
const ofSuccess = isAskedAnew('a.due_at');
const ofFailure = isAskedAnew('$3::timestamptz');

const recordSuccesses = statement<{ delivery_id: number }>(
  'record_webhook_successes',
  `with attempts as (
    select * from unnest($1::bigint[], $2::timestamptz[], $3::integer[], $4::integer[], $5::text[], $6::boolean[],
      $7::timestamptz[]) as a(delivery_id, attempted_at, duration_ms, status, response, is_probe, due_at)
  ), delivered as (
    update webhook_deliveries d
    set state = case when ${ofSuccess} then d.state else 'delivered' end,
      attempt_count = d.attempt_count + case when ${ofSuccess} then 0 else 1 end,
      next_attempt_at = case when ${ofSuccess} then d.next_attempt_at end,
      finished_at = case when not ${ofSuccess} then now() end
    from attempts a where d.id = a.delivery_id
    returning d.id, d.account_id, d.endpoint_id, d.is_redacted, a.is_probe
  ), inserted as (
    insert into webhook_attempts (account_id, delivery_id, attempted_at, duration_ms, status, response)
    -- What answers a body that was rewritten meanwhile may repeat it as it was.
    select d.account_id, d.id, a.attempted_at, a.duration_ms, a.status,
      case when not d.is_redacted then a.response end
    from attempts a join delivered d on d.id = a.delivery_id
  ), recovered as (
    -- An endpoint that is well is not written to, so that its lanes do not wait for each other.
    update webhook_endpoints w
    set failing_since = null, probed_until = case when d.is_probe then null else w.probed_until end
    from (select endpoint_id, bool_or(is_probe) as is_probe from delivered group by endpoint_id) d
    where w.id = d.endpoint_id and w.failing_since is not null
    returning w.id
  )
  select d.id as delivery_id from delivered d join recovered r on r.id = d.endpoint_id`,
);

const updateFailed = statement<{ account_id: number; is_redacted: boolean }>(
  'update_failed_delivery',
  `update webhook_deliveries d
  set attempt_count = d.attempt_count + case when ${ofFailure} then 0 else 1 end,
    state = case when ${ofFailure} or $2::bigint is not null then 'pending' else 'dead' end,
    next_attempt_at = case when ${ofFailure} then d.next_attempt_at else now() + $2::bigint * interval '1 millisecond' end,
    finished_at = case when not ${ofFailure} and $2::bigint is null then now() end
  where d.id = $1
  returning account_id, is_redacted`,
);

const insertAttempt = statement<never>(
  'insert_webhook_attempt',
  `insert into webhook_attempts (account_id, delivery_id, attempted_at, duration_ms, status, error, response)
  values ($1, $2, $3, $4, $5, $6, $7)`,
);

const noteFailure = statement<{ is_hopeless: boolean }>(
  'note_webhook_failure',
  `update webhook_endpoints
  set failing_since = coalesce(failing_since, now()), probed_until = case when $2 then null else probed_until end
  where id = $1
  returning failing_since <= now() - ${maxFailingDays} * interval '1 day' as is_hopeless`,
);

/** Why an endpoint is disabled by the server, in words for those who find it so. */
const disablings = {
  gone: 'The endpoint answered 410 Gone',
  failing: `Nothing could be delivered for ${maxFailingDays} days`,
};

export function recordAttempts(database: Database, queue: Queryable, audit: AuditLog): AttemptRecorder {
  return {
    recordSuccess: batchCalls(async (attempts: Attempt[]) => {
      const rows = await queue.query(recordSuccesses, [
        attempts.map(one => one.deliveryId),
        attempts.map(one => one.attemptedAt),
        attempts.map(one => one.durationMs),
        attempts.map(one => one.status),
        attempts.map(one => one.response),
        attempts.map(one => one.isProbe),
        attempts.map(one => one.dueAt),
      ]);
      const recovering = new Set(rows.map(row => row.delivery_id));
      return attempts.map(({ deliveryId }) => recovering.has(deliveryId));
    }),

    async recordFailure(attempt, lane, attemptCount) {
      const isGone = attempt.status === gone;
      const delayMs = isGone ? undefined : retryDelayMs(attemptCount + 1);
      await database.transaction(async transaction => {
        const { query } = transaction;
        const [delivery] = await query(updateFailed, [attempt.deliveryId, delayMs ?? null, attempt.dueAt]);
        // It was deleted with its endpoint in the meantime.
        if (!delivery) return;
        await query(insertAttempt, [
          delivery.account_id,
          attempt.deliveryId,
          attempt.attemptedAt,
          attempt.durationMs,
          attempt.status,
          attempt.error,
          delivery.is_redacted ? null : attempt.response,
        ]);
        if (delayMs !== undefined) await wakeLane({ query }, lane, delayMs);
        const [endpoint] = await query(noteFailure, [lane.endpointId, attempt.isProbe]);
        const reason = isGone ? 'gone' : endpoint?.is_hopeless ? 'failing' : undefined;
        if (reason) await disable(transaction, lane.endpointId, reason);
      });
    },
  };

  async function disable(transaction: Transaction, webhookId: number, reason: keyof typeof disablings) {
    const disabled = await disableEndpoint(transaction, webhookId, disablings[reason]);
    if (!disabled) return;
    const fields = { account_id: disabled.accountId, webhook_id: webhookId, reason };
    transaction.afterCommit(() => audit.record('webhook.disabled', { by: 'server', ...fields }));
  }
}
