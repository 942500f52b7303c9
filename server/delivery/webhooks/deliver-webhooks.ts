import type { Task } from 'graphile-worker';
import { sql } from 'kysely';
import { z } from 'zod';
import { type Arguments, query } from '../../database/query.ts';
import { killPendingDeliveries } from '../../domain/webhooks/disable-webhook.ts';
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

/** Jobs of the version before this one have no account_id. */
const Payload = z.object({ account_id: z.int().optional(), endpoint_id: z.int(), lane: z.int() });

/** How long a lane is sent from before others have their turn. */
const turnMs = 1_000;

/** How much of an answer the log of deliveries keeps. */
const keptCharacters = 4_096;

/** A turn of a lane in this process. */
interface Turn {
  /** A job for the lane came meanwhile: it has to be looked at once more. */
  isCalledAgain: boolean;
  startedAt: number;
}

/**
 * The task that sends what is due in a lane of an endpoint, one after the other.
 *
 * What is to be sent is in the table of deliveries; a job only says that there is something. So the job that comes to a
 * lane which is being sent from has nothing to do, and a lane costs one job at a time, however much waits in it. An
 * endpoint has eight lanes, and takes eight jobs of a worker at most. Slots bound how many lanes of an endpoint and of an
 * account are sent from at once. A lane without a slot ends its job, so that it keeps no other account waiting.
 *
 * Of all processes one at most is at a lane, by a lock. One that finds it locked leaves: it saw its delivery committed
 * before, and whoever has the lock looks once more after giving it back.
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

  /** Sends until nothing is due, or answers true when the lane is looked at again later. */
  async function sendDue(lane: Lane, turn: Turn, signal: AbortSignal | undefined): Promise<boolean> {
    for (;;) {
      const deliveries = await pending.load(lane);
      const [first] = deliveries;
      if (!first) return false;
      if (first.endpoint.isDisabled) {
        await killPendingDeliveries(queue, lane);
        return false;
      }
      if (isOver(turn)) {
        await wakeLanes(queue, [lane]);
        return true;
      }
      if (!slots.keep(lane)) return true;
      const { failingForMs } = first.endpoint;
      if (failingForMs === null) await sendInOrder(deliveries, lane, turn, signal);
      else if (await probe(first, lane, failingForMs, signal)) return true;
    }
  }

  /** Sends deliveries until one fails or is slow, each while the result of the one before is being recorded. */
  async function sendInOrder(deliveries: DueDelivery[], lane: Lane, turn: Turn, signal: AbortSignal | undefined) {
    const recording: Promise<unknown>[] = [];
    try {
      for (const delivery of deliveries) {
        const { outcome, attempt } = await send(delivery, lane, signal);
        if (outcome.result !== 'delivered') {
          // The order of the log is that of the tries.
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
   * Tries an endpoint that fails, unless it is being tried: a hanging one takes one job of all workers. Answers true
   * when the lane is to be left until later.
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
    const outcome = await deliver(webhook, delivery, { metrics, signal });
    const { answer } = outcome;
    const attempt: Attempt = {
      accountId: delivery.accountId,
      deliveryId: delivery.id,
      dueAt: delivery.dueAt,
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
    const failure = { failedTries: delivery.attemptCount + 1, isGone: result === 'refused' };
    await recorder.recordFailure(attempt, lane, failure);
  }
}

/** Returns the beginning of an answer as text that PostgreSQL can store. */
function readable(body: Buffer): string | null {
  if (body.length === 0) return null;
  return body.toString('utf8', 0, keptCharacters).replaceAll('\0', '�');
}

const now = sql<string>`now()`;

/** The claim lasts longer than a try takes. A process that dies after it keeps the endpoint waiting that long. */
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
    .with('well', cte =>
      cte
        .selectFrom('webhook_endpoints as w')
        .select('w.id')
        .where('w.account_id', '=', $.accountId)
        .where('w.id', '=', $.endpointId)
        .where('w.failing_since', 'is', null),
    )
    .selectNoFrom(endpoint => [
      endpoint.exists(endpoint.selectFrom('claimed')).as('is_claimed'),
      endpoint.exists(endpoint.selectFrom('well')).as('is_well'),
    ]),
);
