import type { Task } from 'graphile-worker';
import { sql } from 'kysely';
import { z } from 'zod';
import { type Arguments, query } from '../../database/query.ts';
import { traceparentOf } from '../../domain/events/recorded-event.ts';
import { killPendingDeliveries } from '../../domain/webhooks/disable-endpoint.ts';
import {
  type AccountEndpoint,
  type Lane,
  laneKey,
  wakeEndpoint,
  wakeLaneLater,
  wakeLanes,
} from '../../domain/webhooks/wake-lanes.ts';
import { deliver, type Outcome } from '../channel.ts';
import type { TaskDependencies } from '../dependencies.ts';
import { pauseMs } from '../retry-policy.ts';
import { buildDeliverySlots } from './delivery-slots.ts';
import { type DueDelivery, readPendingDeliveries } from './pending-deliveries.ts';
import { type Attempt, recordAttempts } from './record-attempts.ts';
import { buildWebhookChannel } from './webhook-channel.ts';

/** The payload of a job. Jobs from the previous version of the server have no account_id. */
const Payload = z.object({ account_id: z.int().optional(), endpoint_id: z.int(), lane: z.int() });

/**
 * The maximum time that a lane (a delivery queue of an endpoint) may send in one turn. After this time, the lane lets
 * other lanes send first.
 */
const turnMs = 1_000;

/** The maximum number of bytes of an endpoint's answer that the server stores. */
const maxStoredBytes = 4_096;

/** One turn of a lane, a delivery queue of an endpoint. During its turn the lane sends its due deliveries. */
interface Turn {
  /** Whether another job for the lane (delivery queue) started during this turn. If so, another turn follows. */
  isCalledAgain: boolean;
  startedAt: number;
}

/**
 * Builds the task that sends the due deliveries of a lane, one after the other.
 *
 * Each endpoint has eight lanes. A lane is a queue that sends one delivery at a time. The deliveries are rows of a
 * table, and a job only wakes a lane. If the lane is already sending in this process, the job ends immediately. So the
 * lanes of an endpoint occupy at most eight jobs of a worker. Delivery slots limit how many lanes of an endpoint and of
 * an account send at the same time. A lane without a slot ends its job, so that other accounts do not wait for it.
 *
 * A lock lets only one process at a time send from a lane. A process that finds the lane locked ends its job. No
 * delivery is missed, because its row was committed before the job started. The process with the lock looks for
 * deliveries once more after it has released the lock.
 */
export function deliverWebhooks(deps: TaskDependencies): Task {
  const { queue, locks, logger, clock, metrics, stopping } = deps;
  const { quickMs } = deps.requests;
  const pending = readPendingDeliveries(queue);
  const recorder = recordAttempts(deps.database, queue, deps.audit);
  const slots = buildDeliverySlots(deps.config.WORKER_CONCURRENCY, quickMs);
  const webhook = buildWebhookChannel(deps);
  const turns = new Map<string, Turn>();

  return async (payload, { abortSignal }) => {
    const { account_id, endpoint_id: endpointId, lane: number } = Payload.parse(payload);
    const accountId = account_id ?? (await pending.accountOf(endpointId));
    if (accountId === undefined) return;
    const lane = { accountId, endpointId, lane: number };
    const key = laneKey(lane);
    const current = turns.get(key);
    if (current) {
      current.isCalledAgain = true;
      return;
    }
    const turn: Turn = { isCalledAgain: false, startedAt: 0 };
    turns.set(key, turn);
    try {
      do {
        Object.assign(turn, { isCalledAgain: false, startedAt: performance.now() });
        await takeTurn(lane, turn, abortSignal);
      } while (turn.isCalledAgain);
    } finally {
      turns.delete(key);
    }
  };

  async function takeTurn(lane: Lane, turn: Turn, signal: AbortSignal | undefined) {
    while (!slots.isWaiting(lane)) {
      if (!(await pending.isDue(lane))) return;
      if (!slots.take(lane)) return;
      let isPlanned = true;
      try {
        if (await locks.tryLock(laneKey(lane))) {
          try {
            isPlanned = await sendDue(lane, turn, signal);
          } finally {
            await locks.unlock(laneKey(lane));
          }
        }
      } finally {
        await wakeLanes(queue, slots.release(lane));
      }
      if (isPlanned) return;
    }
  }

  /**
   * Sends the due deliveries of a lane (a delivery queue of an endpoint) during its turn. Resolves to true if another
   * job will continue with the lane.
   */
  async function sendDue(lane: Lane, turn: Turn, signal: AbortSignal | undefined): Promise<boolean> {
    for (;;) {
      const deliveries = await pending.load(lane);
      const [first] = deliveries;
      if (!first) return false;
      if (first.is_disabled) {
        await killPendingDeliveries(queue, lane);
        return false;
      }
      if (isOver(turn)) {
        await wakeLanes(queue, [lane]);
        return true;
      }
      if (!slots.keep(lane)) return true;
      if (first.failing_for_ms === null) await sendInOrder(deliveries, lane, turn, signal);
      else if (await probe(first, lane, first.failing_for_ms, signal)) return true;
    }
  }

  /**
   * Sends the deliveries of a lane (a delivery queue) in order. Stops if a delivery fails or is slow, or if the lane's
   * turn is over. Records each success while it sends the next delivery.
   */
  async function sendInOrder(deliveries: DueDelivery[], lane: Lane, turn: Turn, signal: AbortSignal | undefined) {
    const recording: Promise<unknown>[] = [];
    try {
      for (const delivery of deliveries) {
        const { outcome, attempt } = await send(delivery, lane, signal);
        if (outcome.result !== 'delivered') {
          // Waits until all earlier tries are recorded, so that the delivery log lists the tries in their order.
          await Promise.all(recording);
          await recordFailure(delivery, lane, outcome, attempt);
          return;
        }
        const recorded = recorder.recordSuccess(attempt);
        recorded.catch(() => {});
        recording.push(recorded);
        if (isOver(turn) || attempt.durationMs >= quickMs) return;
      }
    } finally {
      await Promise.all(recording);
    }
  }

  /**
   * Sends a single delivery to a failing endpoint, unless another lane or process is already sending one. So an
   * endpoint that hangs occupies only one job of all workers. Resolves to true if the lane must wait.
   */
  async function probe(delivery: DueDelivery, lane: Lane, failingForMs: number, signal: AbortSignal | undefined) {
    const { accountId, endpointId } = lane;
    const [state] = await queue.query(claimProbe, { accountId, endpointId });
    if (state?.is_well) return false;
    if (!state?.is_claimed) {
      await wakeLaneLater(queue, lane, pauseMs(failingForMs));
      return true;
    }
    const { outcome, attempt } = await send(delivery, lane, signal, true);
    if (outcome.result === 'delivered') {
      if (await recorder.recordSuccess(attempt)) await wakeEndpoint(queue, lane);
      return false;
    }
    await recordFailure(delivery, lane, outcome, attempt);
    await wakeLaneLater(queue, lane, pauseMs(failingForMs));
    return true;
  }

  async function send(delivery: DueDelivery, lane: Lane, signal: AbortSignal | undefined, isProbe = false) {
    slots.begin(lane);
    const attemptedAt = clock.now();
    const attributes = {
      'idea_board.webhook_id': lane.endpointId,
      'idea_board.delivery_id': delivery.id,
      'idea_board.delivery_attempt': delivery.attempt_count + 1,
    };
    const traceparent = traceparentOf(delivery);
    const outcome = await deliver(webhook, delivery, { metrics, signal, traceparent, attributes });
    const { answer } = outcome;
    const attempt: Attempt = {
      accountId: lane.accountId,
      deliveryId: delivery.id,
      dueAt: delivery.next_attempt_at,
      attemptedAt,
      durationMs: Math.round(outcome.durationMs),
      status: answer?.status ?? null,
      error: answer || outcome.result === 'delivered' ? null : outcome.reason,
      response: answer ? readable(answer.body) : null,
      isProbe,
    };
    const isQuick = outcome.result === 'delivered' && attempt.durationMs < quickMs;
    await wakeLanes(queue, slots.end(lane, isQuick));
    return { outcome, attempt };
  }

  function isOver({ startedAt }: Turn): boolean {
    return stopping.aborted || performance.now() - startedAt > turnMs;
  }

  async function recordFailure(delivery: DueDelivery, lane: Lane, { result }: Outcome, attempt: Attempt) {
    const { status, error } = attempt;
    logger.info({ deliveryId: delivery.id, endpointId: lane.endpointId, status, error }, 'a webhook was not delivered');
    const failure = { failedTries: delivery.attempt_count + 1, isGone: result === 'refused' };
    await recorder.recordFailure(attempt, lane, failure);
  }
}

/** Returns the beginning of an endpoint's answer as text that PostgreSQL can store. */
function readable(body: Buffer): string | null {
  if (body.length === 0) return null;
  return body.toString('utf8', 0, maxStoredBytes).replaceAll('\0', '�');
}

const now = sql<string>`now()`;

/**
 * Claims the next try at a failing endpoint, because all processes together may make only one try at a time. The claim
 * lasts longer than a try. If the process dies, the endpoint gets no try until the claim ends.
 */
const claimProbe = query('claim_webhook_probe', (db, $: Arguments<AccountEndpoint>) =>
  db
    .with('claimed', cte =>
      cte
        .updateTable('webhook_endpoints as w')
        .set({ probed_until: sql`now() + interval '15 seconds'` })
        .where('w.account_id', '=', $.accountId)
        .where('w.id', '=', $.endpointId)
        .where('w.failing_since', 'is not', null)
        .where(w => w.or([w('w.probed_until', 'is', null), w('w.probed_until', '<=', now)]))
        .returning('w.id'),
    )
    .selectFrom('webhook_endpoints as w')
    .select(w => [w.exists(w.selectFrom('claimed')).as('is_claimed'), w('w.failing_since', 'is', null).as('is_well')])
    .where('w.account_id', '=', $.accountId)
    .where('w.id', '=', $.endpointId),
);
