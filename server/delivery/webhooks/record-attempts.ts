import { type RawBuilder, sql } from 'kysely';
import { coalesceCallsByAccount } from '../../database/coalesce-calls.ts';
import type { Database, Queryable, Transaction } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { disableEndpoint } from '../../domain/webhooks/disable-webhook.ts';
import { type AccountEndpoint, type Lane, wakeLanes } from '../../domain/webhooks/wake-lanes.ts';
import type { AuditLog } from '../../observability/audit-log.ts';
import { nextTry, retryPolicies } from '../retry-policy.ts';

/** One try of a delivery: a status with the beginning of the answer, or an error. */
export interface Attempt {
  accountId: number;
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

interface Failure {
  /** Including this try. */
  failedTries: number;
  /** Whether the endpoint is gone for good. */
  isGone: boolean;
}

export interface AttemptRecorder {
  /** Answers whether the endpoint had been failing. */
  recordSuccess(attempt: Attempt): Promise<boolean>;
  recordFailure(attempt: Attempt, lane: Lane, failure: Failure): Promise<void>;
}

const maxFailingDays = 5;

/** Whether somebody redelivered d during this try. Then it stays pending, whatever the result of the try. */
const isRedelivered = (dueAt: RawBuilder<string>) =>
  sql<boolean>`(d.state = 'pending' and d.next_attempt_at is distinct from ${dueAt})`;

const now = sql<string>`now()`;

/** Tries of one account. */
interface SuccessColumns {
  accountId: number;
  deliveryIds: readonly number[];
  attemptedAt: readonly Date[];
  durationsMs: readonly number[];
  statuses: readonly (number | null)[];
  responses: readonly (string | null)[];
  areProbes: readonly boolean[];
  dueAt: readonly string[];
}

interface Success {
  delivery_id: number;
  attempted_at: string;
  duration_ms: number;
  status: number;
  response: string | null;
  is_probe: boolean;
  due_at: string;
}

function successesOf($: Arguments<SuccessColumns>) {
  return sql<Success>`unnest(
    ${$.deliveryIds}::bigint[], ${$.attemptedAt}::timestamptz[], ${$.durationsMs}::integer[], ${$.statuses}::integer[],
    ${$.responses}::text[], ${$.areProbes}::boolean[], ${$.dueAt}::timestamptz[]
  )`.as<'a'>(sql`a(delivery_id, attempted_at, duration_ms, status, response, is_probe, due_at)`);
}

const isSuccessRedelivered = isRedelivered(sql`a.due_at`);

/** One statement for all writes, because it runs for nearly every delivery. */
const recordSuccesses = query('record_webhook_successes', (db, $: Arguments<SuccessColumns>) =>
  db
    .with('attempts', cte => cte.selectFrom(successesOf($)).selectAll())
    .with('delivered', cte =>
      cte
        .updateTable('webhook_deliveries as d')
        .from('attempts as a')
        .set(d => ({
          state: d
            .case()
            .when(isSuccessRedelivered)
            .then(d.ref('d.state'))
            .else('delivered' as const)
            .end(),
          attempt_count: d('d.attempt_count', '+', d.case().when(isSuccessRedelivered).then(0).else(1).end()),
          next_attempt_at: d.case().when(isSuccessRedelivered).then(d.ref('d.next_attempt_at')).end(),
          finished_at: d.case().when(d.not(isSuccessRedelivered)).then(now).end(),
        }))
        .where('d.account_id', '=', $.accountId)
        .whereRef('d.id', '=', 'a.delivery_id')
        .returning(['d.id', 'd.endpoint_id', 'd.is_redacted', 'a.is_probe']),
    )
    .with('inserted', cte =>
      cte
        .insertInto('webhook_attempts')
        .columns(['account_id', 'delivery_id', 'attempted_at', 'duration_ms', 'status', 'response'])
        .expression(from =>
          from
            .selectFrom('attempts as a')
            .innerJoin('delivered as d', 'd.id', 'a.delivery_id')
            .select([$.accountId.as('account_id'), 'd.id', 'a.attempted_at', 'a.duration_ms', 'a.status'])
            // The answer to a body that was rewritten meanwhile may repeat what was removed from it.
            .select(d => d.case().when('d.is_redacted', '=', false).then(d.ref('a.response')).end().as('response')),
        ),
    )
    .with('endpoints', cte =>
      cte
        .selectFrom('delivered as d')
        .select(['d.endpoint_id', sql<boolean>`bool_or(d.is_probe)`.as('is_probe')])
        .groupBy('d.endpoint_id'),
    )
    // An endpoint that is well is not written to, so that its lanes do not wait for each other.
    .with('recovered', cte =>
      cte
        .updateTable('webhook_endpoints as w')
        .from('endpoints as d')
        .set(w => ({
          failing_since: null,
          probed_until: w.case().when('d.is_probe', '=', false).then(w.ref('w.probed_until')).end(),
        }))
        .where('w.account_id', '=', $.accountId)
        .whereRef('w.id', '=', 'd.endpoint_id')
        .where('w.failing_since', 'is not', null)
        .returning('w.id'),
    )
    .selectFrom('delivered as d')
    .innerJoin('recovered as r', 'r.id', 'd.endpoint_id')
    .select('d.id as delivery_id'),
);

interface FailedDelivery {
  accountId: number;
  deliveryId: number;
  /** Null: it is not tried again. */
  delayMs: number | null;
  dueAt: string;
}

const updateFailed = query('update_failed_delivery', (db, $: Arguments<FailedDelivery>) => {
  const isPendingAgain = isRedelivered($.dueAt);
  const delayMs = sql<number | null>`${$.delayMs}::bigint`;
  return db
    .updateTable('webhook_deliveries as d')
    .set(d => ({
      attempt_count: d('d.attempt_count', '+', d.case().when(isPendingAgain).then(0).else(1).end()),
      state: d
        .case()
        .when(d.or([isPendingAgain, d(delayMs, 'is not', null)]))
        .then('pending' as const)
        .else('dead' as const)
        .end(),
      next_attempt_at: d
        .case()
        .when(isPendingAgain)
        .then(d.ref('d.next_attempt_at'))
        .else(sql<string | null>`now() + ${delayMs} * interval '1 millisecond'`)
        .end(),
      finished_at: d
        .case()
        .when(d.and([d.not(isPendingAgain), d(delayMs, 'is', null)]))
        .then(now)
        .end(),
    }))
    .where('d.account_id', '=', $.accountId)
    .where('d.id', '=', $.deliveryId)
    .returning('d.is_redacted');
});

const insertAttempt = query('insert_webhook_attempt', (db, $: Arguments<Omit<Attempt, 'dueAt' | 'isProbe'>>) =>
  db.insertInto('webhook_attempts').values({
    account_id: $.accountId,
    delivery_id: $.deliveryId,
    attempted_at: $.attemptedAt,
    duration_ms: $.durationMs,
    status: $.status,
    error: $.error,
    response: $.response,
  }),
);

const noteFailure = query('note_webhook_failure', (db, $: Arguments<AccountEndpoint & { isProbe: boolean }>) =>
  db
    .updateTable('webhook_endpoints as w')
    .set(w => ({
      failing_since: w.fn.coalesce('w.failing_since', now),
      probed_until: w.case().when($.isProbe).then(null).else(w.ref('w.probed_until')).end(),
    }))
    .where('w.account_id', '=', $.accountId)
    .where('w.id', '=', $.endpointId)
    .returning(sql<boolean>`w.failing_since <= now() - ${maxFailingDays} * interval '1 day'`.as('is_hopeless')),
);

/** Why an endpoint is disabled by the server, in words for those who find it so. */
const disablings = {
  gone: 'The endpoint answered 410 Gone',
  failing: `Nothing could be delivered for ${maxFailingDays} days`,
};

export function recordAttempts(database: Database, queue: Queryable, audit: AuditLog): AttemptRecorder {
  return {
    recordSuccess: coalesceCallsByAccount(async (accountId, attempts: Attempt[]) => {
      const rows = await queue.query(recordSuccesses, {
        accountId,
        deliveryIds: attempts.map(one => one.deliveryId),
        attemptedAt: attempts.map(one => one.attemptedAt),
        durationsMs: attempts.map(one => one.durationMs),
        statuses: attempts.map(one => one.status),
        responses: attempts.map(one => one.response),
        areProbes: attempts.map(one => one.isProbe),
        dueAt: attempts.map(one => one.dueAt),
      });
      const recovering = new Set(rows.map(row => row.delivery_id));
      return attempts.map(({ deliveryId }) => recovering.has(deliveryId));
    }),

    async recordFailure(attempt, lane, { failedTries, isGone }) {
      const { dueAt, isProbe, ...tried } = attempt;
      const { accountId, endpointId } = lane;
      const next = isGone ? 'give up' : nextTry(retryPolicies.webhook, { failedTries });
      const delayMs = next === 'give up' ? null : next;
      await database.transaction(async transaction => {
        const failed = { accountId, deliveryId: attempt.deliveryId, delayMs, dueAt };
        const [delivery] = await transaction.query(updateFailed, failed);
        // It was deleted with its endpoint in the meantime.
        if (!delivery) return;
        const response = delivery.is_redacted ? null : attempt.response;
        await transaction.query(insertAttempt, { ...tried, response });
        if (delayMs !== null) await wakeLanes(transaction, [lane], delayMs);
        const [endpoint] = await transaction.query(noteFailure, { accountId, endpointId, isProbe });
        const reason = isGone ? 'gone' : endpoint?.is_hopeless ? 'failing' : undefined;
        if (reason) await disable(transaction, lane, reason);
      });
    },
  };

  async function disable(transaction: Transaction, endpoint: AccountEndpoint, reason: keyof typeof disablings) {
    if (!(await disableEndpoint(transaction, endpoint, disablings[reason]))) return;
    const fields = { account_id: endpoint.accountId, webhook_id: endpoint.endpointId, reason };
    transaction.afterCommit(() => audit.record('webhook.disabled', { by: 'server', ...fields }));
  }
}
