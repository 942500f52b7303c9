import { type AliasableExpression, type InferResult, sql } from 'kysely';
import { jsonObjectFrom } from 'kysely/helpers/postgres';
import type { DeliveryState } from '../../entities/webhook.ts';
import type { Administration } from '../administration.ts';
import { cutRows } from '../pagination.ts';
import { requireWebhook } from './find-webhook.ts';

/** A delivery without what was sent and answered. */
export type DeliverySummary = InferResult<ReturnType<typeof summariesOf>>[number];

export interface DeliveryPage {
  rows: DeliverySummary[];
  /** The next page lists deliveries before this one; undefined on the last page. */
  next: number | undefined;
}

export interface DeliveryPlace {
  /** Undefined: all of them. */
  state: DeliveryState | undefined;
  before: number | undefined;
  limit: number;
  /** How many rows of the log one page of delivered ones may read. Few rows of the log may be delivered. */
  mostLookedAt?: number;
}

const defaultMostLookedAt = 10_000;

/**
 * Lists the newest deliveries of an endpoint, or those before one. A page of those that were delivered may be empty and
 * still have a next page.
 */
export async function listDeliveryPage(
  admin: Administration,
  accountId: number,
  endpointId: number,
  { state, before, limit, mostLookedAt = defaultMostLookedAt }: DeliveryPlace,
): Promise<DeliveryPage> {
  await requireWebhook(admin, accountId, endpointId);
  const log = { db: admin.db, accountId, endpointId, before };
  const found =
    state === 'delivered' ? findDelivered(log, limit + 1, mostLookedAt) : finders[state ?? 'all'](log, limit + 1);
  const { rows, hasMore } = cutRows(await summariesOf(log, found).execute(), limit);
  if (hasMore) return { rows, next: rows.at(-1)?.id };
  if (state !== 'delivered') return { rows, next: undefined };
  // Goes on after the last delivery that was looked at, if others are before it.
  const ends = logOf(log)
    .select('d.id')
    .orderBy('d.id', 'desc')
    .offset(mostLookedAt - 1)
    .limit(2);
  const [end, another] = await ends.execute();
  return { rows, next: another && end?.id };
}

interface Log {
  db: Administration['db'];
  accountId: number;
  endpointId: number;
  before: number | undefined;
}

/** The deliveries of an account whose ids a query finds, newest first. */
function summariesOf({ db, accountId }: Log, ids: AliasableExpression<{ id: number }>) {
  return db
    .selectFrom(ids.as('found'))
    .innerJoin('webhook_deliveries as d', join =>
      join.onRef('d.id', '=', 'found.id').on('d.account_id', '=', accountId),
    )
    .innerJoin('events as e', join => join.onRef('e.id', '=', 'd.event_id').on('e.account_id', '=', accountId))
    .select(['d.id', 'e.type', 'd.state', 'd.created_at', 'd.next_attempt_at'])
    .select(d =>
      jsonObjectFrom(
        d
          .selectFrom('webhook_attempts as a')
          .select(['a.attempted_at', 'a.duration_ms', 'a.status', 'a.error'])
          .where('a.account_id', '=', accountId)
          .whereRef('a.delivery_id', '=', 'd.id')
          .orderBy('a.id', 'desc')
          .limit(1),
      ).as('last_attempt'),
    )
    .orderBy('d.id', 'desc');
}

const finders = {
  all: (log: Log, limit: number) => logOf(log).select('d.id').orderBy('d.id', 'desc').limit(limit),

  /** The index of pending deliveries is by lane, and there are eight lanes. */
  pending: (log: Log, limit: number) =>
    log.db
      .selectFrom(sql<{ number: number }>`generate_series(0, 7)`.as<'lanes'>(sql`lanes(number)`))
      .crossJoinLateral(
        logOf(log)
          .select('d.id')
          .where('d.lane', '=', sql<number>`lanes.number::smallint`)
          .where('d.state', '=', 'pending')
          .orderBy('d.id', 'desc')
          .limit(limit)
          .as('pending'),
      )
      .select('pending.id')
      .orderBy('pending.id', 'desc')
      .limit(limit),

  /** Dead deliveries have an index of their own. */
  dead: (log: Log, limit: number) => inOrderOfIndex(log).select('d.id').where('d.state', '=', 'dead').limit(limit),
};

/** Most deliveries are delivered. Reads the log from the newest one until a page is full, or mostLookedAt are read. */
function findDelivered(log: Log, limit: number, mostLookedAt: number) {
  return log.db
    .selectFrom(inOrderOfIndex(log).select(['d.id', 'd.state']).limit(mostLookedAt).as('walked'))
    .select('walked.id')
    .where('walked.state', '=', 'delivered')
    .limit(limit);
}

function logOf(log: Log) {
  return deliveriesBefore(log).where('d.endpoint_id', '=', log.endpointId);
}

/** Newest first. PostgreSQL drops `endpoint_id = …` from an order, and then it may read the log of all endpoints. */
function inOrderOfIndex(log: Log) {
  const { endpointId } = log;
  return deliveriesBefore(log)
    .where(d => d.between('d.endpoint_id', endpointId, endpointId))
    .orderBy('d.endpoint_id')
    .orderBy('d.id', 'desc');
}

function deliveriesBefore({ db, accountId, before }: Log) {
  return db
    .selectFrom('webhook_deliveries as d')
    .where('d.account_id', '=', accountId)
    .$call(d => (before === undefined ? d : d.where('d.id', '<', before)));
}
