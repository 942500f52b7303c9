import { type RawBuilder, sql } from 'kysely';
import { coalesceCallsByAccount } from '../../database/coalesce-calls.ts';
import type { Database, Queryable, Transaction } from '../../database/database.ts';
import { type Arguments, query } from '../../database/query.ts';
import { disableEndpoint } from '../../domain/webhooks/disable-endpoint.ts';
import { maxFailingDays, storedReason } from '../../domain/webhooks/disabled-reason.ts';
import { type AccountEndpoint, type Lane, wakeLanes } from '../../domain/webhooks/wake-lanes.ts';
import type { AuditLog } from '../../observability/audit-log.ts';
import { nextTry, retryPolicies } from '../retry-policy.ts';

/** One try of a delivery. It has either the HTTP status and the beginning of the endpoint's answer, or an error. */
export interface Attempt {
  accountId: number;
  deliveryId: number;
  /**
   * The due time that the delivery had when the worker read its row. If the row has another due time after the try, a
   * person has requested a redelivery meanwhile.
   */
  dueAt: string;
  attemptedAt: Date;
  durationMs: number;
  status: number | null;
  error: string | null;
  response: string | null;
  /** Whether this was a try at a failing endpoint, where all processes together may make only one try at a time. */
  isProbe: boolean;
}

interface Failure {
  /** The number of failed tries, including this one. */
  failedTries: number;
  /** Whether the endpoint answered 410 Gone. */
  isGone: boolean;
}

const now = sql<string>`now()`;

interface Result {
  state: RawBuilder<'pending' | 'delivered' | 'dead'>;
  nextAttemptAt: RawBuilder<string | null>;
  finishedAt: RawBuilder<string | null>;
}

/**
 * Returns the new values of a delivery's columns after a try. If a person requested a redelivery during the try, the
 * delivery stays pending.
 */
function deliveryAfter(dueAt: RawBuilder<string>, { state, nextAttemptAt, finishedAt }: Result) {
  const isRedelivered = sql`d.state = 'pending' and d.next_attempt_at is distinct from ${dueAt}`;
  return {
    attempt_count: sql<number>`d.attempt_count + case when ${isRedelivered} then 0 else 1 end`,
    state: sql<'pending' | 'delivered' | 'dead'>`case when ${isRedelivered} then d.state else ${state} end`,
    next_attempt_at: sql<string | null>`case when ${isRedelivered} then d.next_attempt_at else ${nextAttemptAt} end`,
    finished_at: sql<string | null>`case when ${isRedelivered} then null else ${finishedAt} end`,
  };
}

/** Turns JSON into a table with the SQL alias `a`. Its quoted column names are the field names of the type Attempt. */
function attemptsOf(attempts: RawBuilder<string>) {
  return sql<Attempt>`json_to_recordset(${attempts}::json)`.as<'a'>(
    sql`a("deliveryId" bigint, "attemptedAt" timestamptz, "durationMs" integer, status integer, response text,
      "isProbe" boolean, "dueAt" timestamptz)`,
  );
}

interface Successes {
  accountId: number;
  attempts: string;
}

/** Records successful tries. All writes are in one statement, because this query runs for nearly every delivery. */
const recordSuccesses = query('record_webhook_successes', (db, $: Arguments<Successes>) =>
  db
    .with('attempts', cte => cte.selectFrom(attemptsOf($.attempts)).selectAll())
    .with('delivered', cte =>
      cte
        .updateTable('webhook_deliveries as d')
        .from('attempts as a')
        .set(deliveryAfter(sql`a."dueAt"`, { state: sql`'delivered'`, nextAttemptAt: sql`null`, finishedAt: now }))
        .where('d.account_id', '=', $.accountId)
        .whereRef('d.id', '=', 'a.deliveryId')
        .returning(['d.id', 'd.endpoint_id', 'd.is_redacted', 'a.isProbe']),
    )
    .with('inserted', cte =>
      cte
        .insertInto('webhook_attempts')
        .columns(['account_id', 'delivery_id', 'attempted_at', 'duration_ms', 'status', 'response'])
        .expression(from =>
          from
            .selectFrom('attempts as a')
            .innerJoin('delivered as d', 'd.id', 'a.deliveryId')
            .select([$.accountId.as('account_id'), 'd.id', 'a.attemptedAt', 'a.durationMs', 'a.status'])
            // Does not store the answer of the endpoint if the event was redacted during the try, because the answer
            // may repeat the removed text.
            .select(d => d.case().when('d.is_redacted', '=', false).then(d.ref('a.response')).end().as('response')),
        ),
    )
    .with('endpoints', cte =>
      cte
        .selectFrom('delivered as d')
        .select(['d.endpoint_id', sql<boolean>`bool_or(d."isProbe")`.as('is_probe')])
        .groupBy('d.endpoint_id'),
    )
    // Updates only the rows of failing endpoints. Otherwise all delivery queues of an endpoint would wait for each
    // other's lock on the endpoint's row.
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
  /** The delay until the next try, in milliseconds. Null if there is no further try. */
  delayMs: number | null;
  dueAt: string;
}

const updateFailed = query('update_failed_delivery', (db, $: Arguments<FailedDelivery>) => {
  const delayMs = sql<number | null>`${$.delayMs}::bigint`;
  // If somebody disabled the endpoint during the try, the delivery is no longer pending. It then stays dead.
  const failed: Result = {
    state: sql`case when d.state <> 'pending' then d.state when ${delayMs} is null then 'dead' else 'pending' end`,
    nextAttemptAt: sql`case when d.state = 'pending' then now() + ${delayMs} * interval '1 millisecond' end`,
    finishedAt: sql`case when d.state <> 'pending' then d.finished_at when ${delayMs} is null then now() end`,
  };
  return db
    .updateTable('webhook_deliveries as d')
    .set(deliveryAfter($.dueAt, failed))
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

export function recordAttempts(database: Database, queue: Queryable, audit: AuditLog) {
  return {
    /** Records a successful try. Resolves to true if the endpoint was failing before. */
    recordSuccess: coalesceCallsByAccount(async (accountId, attempts: Attempt[]) => {
      const rows = await queue.query(recordSuccesses, { accountId, attempts: JSON.stringify(attempts) });
      const recovering = new Set(rows.map(row => row.delivery_id));
      return attempts.map(({ deliveryId }) => recovering.has(deliveryId));
    }),

    async recordFailure(attempt: Attempt, lane: Lane, { failedTries, isGone }: Failure): Promise<void> {
      const { dueAt, isProbe, ...tried } = attempt;
      const { accountId, endpointId } = lane;
      const next = isGone ? 'give up' : nextTry(retryPolicies.webhook, { failedTries });
      const delayMs = next === 'give up' ? null : next;
      await database.transaction(async transaction => {
        const failed = { accountId, deliveryId: attempt.deliveryId, delayMs, dueAt };
        const [delivery] = await transaction.query(updateFailed, failed);
        // Does nothing if the delivery was deleted together with its endpoint.
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

  async function disable(transaction: Transaction, endpoint: AccountEndpoint, reason: 'gone' | 'failing') {
    if (!(await disableEndpoint(transaction, endpoint, storedReason(reason)))) return;
    const fields = { account_id: endpoint.accountId, webhook_id: endpoint.endpointId, reason };
    transaction.afterCommit(() => audit.record('webhook.disabled', { by: 'server', ...fields }));
  }
}
