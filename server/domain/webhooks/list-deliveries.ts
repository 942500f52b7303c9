import { type AliasableExpression, type InferResult, sql } from 'kysely';
import { jsonArrayFrom, jsonObjectFrom } from 'kysely/helpers/postgres';
import type { DeliveryState } from '../../entities/webhook.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError, type Reading } from '../administration.ts';
import { recordedEventOf, writeEvent } from '../events/recorded-event.ts';
import type { LinkSettings } from '../ideas/present-idea.ts';
import { cutRows } from '../pagination.ts';
import { checkWebhook } from './list-webhooks.ts';

export type DeliveryListing = Awaited<ReturnType<typeof listDeliveries>>[number];

interface DeliveryFilter {
  state?: DeliveryState;
  deliveryId?: number;
  limit: number;
}

export async function listDeliveries(
  admin: Administration,
  accountId: number,
  endpointId: number,
  { state, deliveryId, limit }: DeliveryFilter,
) {
  await checkWebhook(admin, accountId, endpointId);
  return deliveriesOf(admin, accountId, endpointId)
    .select(d =>
      jsonArrayFrom(
        d
          .selectFrom('webhook_attempts as a')
          .select(['a.attempted_at', 'a.duration_ms', 'a.status', 'a.error', 'a.response'])
          .where('a.account_id', '=', accountId)
          .whereRef('a.delivery_id', '=', 'd.id')
          .orderBy('a.id'),
      ).as('attempts'),
    )
    .$call(d => (state === undefined ? d : d.where('d.state', '=', state)))
    .$call(d => (deliveryId === undefined ? d : d.where('d.id', '=', deliveryId)))
    .orderBy('d.id', 'desc')
    .limit(limit)
    .execute();
}

function deliveriesOf({ db }: Administration, accountId: number, endpointId: number) {
  return db
    .selectFrom('webhook_deliveries as d')
    .innerJoin('events as e', join => join.onRef('e.id', '=', 'd.event_id').on('e.account_id', '=', accountId))
    .select(['d.id', sql<string>`'evt_' || d.event_id`.as('webhook_id'), 'e.type', 'd.state', 'd.attempt_count'])
    .select(['d.created_at', 'd.next_attempt_at', 'd.finished_at'])
    .where(d => d.and({ 'd.account_id': accountId, 'd.endpoint_id': endpointId }));
}

export type DeliveryDetails = Awaited<ReturnType<typeof readDelivery>>['delivery'];
export type AttemptDetails = Awaited<ReturnType<typeof readDelivery>>['attempts']['rows'][number];

/**
 * Reads a delivery with a page of its attempts, the newest first. If `before` is given, the page has only attempts
 * whose ids are smaller than `before`. Redeliveries can lead to many attempts.
 */
export async function readDelivery(
  admin: Administration,
  { accountId, endpointId, deliveryId }: { accountId: number; endpointId: number; deliveryId: number },
  { before = Number.MAX_SAFE_INTEGER, limit }: { before: number | undefined; limit: number },
  config: LinkSettings,
) {
  await checkWebhook(admin, accountId, endpointId);
  const delivery = await deliveriesOf(admin, accountId, endpointId)
    .select(recordedEventOf)
    .where('d.id', '=', deliveryId)
    .executeTakeFirstOrThrow(() => unknownDelivery(endpointId, deliveryId));
  const attempts = await admin.db
    .selectFrom('webhook_attempts')
    .select(['id', 'attempted_at', 'duration_ms', 'status', 'error', 'response'])
    .where(a => a.and({ account_id: accountId, delivery_id: deliveryId }))
    .where('id', '<', before)
    .orderBy('id', 'desc')
    .limit(limit + 1)
    .execute();
  return { delivery: { ...delivery, body: writeEvent(delivery, config) }, attempts: cutRows(attempts, limit) };
}

export function unknownDelivery(endpointId: number, deliveryId: number) {
  const message = t('refusals.webhook.unknown_delivery', { id: endpointId, delivery: deliveryId });
  return new AdministrationError('not_found', message);
}

export type DeliverySummary = InferResult<ReturnType<typeof summariesOf>>[number];

interface DeliveryPage {
  rows: DeliverySummary[];
  /** The next page lists the deliveries whose ids are smaller than this id. Undefined on the last page. */
  next: number | undefined;
}

interface PageOptions {
  /** The board that the endpoint must belong to. Undefined for any endpoint of the account. */
  boardId?: number;
  /** The state of the listed deliveries. Undefined to list deliveries in every state. */
  state: DeliveryState | undefined;
  before: number | undefined;
  limit: number;
  /**
   * The maximum number of deliveries to read for one page with the state `delivered`. Without this maximum, the query
   * could read all deliveries of an endpoint to find the few delivered ones.
   */
  mostLookedAt?: number;
}

interface Log {
  db: Administration['db'];
  accountId: number;
  endpointId: number;
  before: number;
}

/**
 * Lists a page of an endpoint's deliveries, newest first. If `before` is given, the page has only deliveries whose ids
 * are smaller than `before`. With the state `delivered`, a page may be empty although another page follows.
 */
export async function listDeliveryPage(
  reading: Reading,
  accountId: number,
  endpointId: number,
  { boardId, state, before = Number.MAX_SAFE_INTEGER, limit, mostLookedAt = 10_000 }: PageOptions,
): Promise<DeliveryPage> {
  await checkWebhook(reading, accountId, endpointId, boardId);
  const log = { db: reading.db, accountId, endpointId, before };
  const found = findNewest(log, state, limit + 1, mostLookedAt);
  const { rows, hasMore } = cutRows(await summariesOf(log, found).execute(), limit);
  if (hasMore) return { rows, next: rows.at(-1)?.id };
  if (state !== 'delivered') return { rows, next: undefined };
  const [end, another] = await logOf(log)
    .orderBy('d.id', 'desc')
    .offset(mostLookedAt - 1)
    .limit(2)
    .execute();
  return { rows, next: another && end?.id };
}

/** Reads the summary of a delivery. Throws not_found if the endpoint has no such delivery. */
export function readDeliverySummary({ db }: Reading, accountId: number, endpointId: number, deliveryId: number) {
  const log = { db, accountId, endpointId, before: Number.MAX_SAFE_INTEGER };
  return summariesOf(log, logOf(log).where('d.id', '=', deliveryId)).executeTakeFirstOrThrow(() =>
    unknownDelivery(endpointId, deliveryId),
  );
}

/** Reads the summaries of the deliveries that the subquery finds, newest first. */
function summariesOf({ db, accountId }: Log, ids: AliasableExpression<{ id: number }>) {
  return db
    .selectFrom(ids.as('found'))
    .innerJoin('webhook_deliveries as d', join =>
      join.onRef('d.id', '=', 'found.id').on('d.account_id', '=', accountId),
    )
    .innerJoin('events as e', join => join.onRef('e.id', '=', 'd.event_id').on('e.account_id', '=', accountId))
    .select(['d.id', 'd.event_id', 'e.type', 'd.state', 'd.attempt_count'])
    .select(['d.created_at', 'd.next_attempt_at', 'd.finished_at'])
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

/**
 * Finds the ids of the newest deliveries. The query depends on the state, because the states need different indexes.
 */
function findNewest(
  log: Log,
  state: DeliveryState | undefined,
  limit: number,
  mostLookedAt: number,
): AliasableExpression<{ id: number }> {
  if (state === undefined) return logOf(log).orderBy('d.id', 'desc').limit(limit);
  if (state === 'dead') return inOrderOfIndex(log).where('d.state', '=', 'dead').limit(limit);
  if (state === 'pending') {
    // The index of pending deliveries is sorted by lane (one of an endpoint's eight delivery queues). So the query
    // reads each lane separately.
    return log.db
      .selectFrom(sql<{ number: number }>`generate_series(0, 7)`.as<'lanes'>(sql`lanes(number)`))
      .crossJoinLateral(
        logOf(log)
          .where(d => d.and({ 'd.lane': sql<number>`lanes.number::smallint`, 'd.state': 'pending' }))
          .orderBy('d.id', 'desc')
          .limit(limit)
          .as('pending'),
      )
      .select('pending.id')
      .orderBy('pending.id', 'desc')
      .limit(limit);
  }
  // Most deliveries have the state `delivered`, so a query that starts with the newest delivery soon fills the page.
  return log.db
    .selectFrom(inOrderOfIndex(log).select('d.state').limit(mostLookedAt).as('walked'))
    .select('walked.id')
    .where('walked.state', '=', 'delivered')
    .limit(limit);
}

function logOf({ db, accountId, endpointId, before }: Log) {
  return db
    .selectFrom('webhook_deliveries as d')
    .select('d.id')
    .where(d => d.and({ 'd.account_id': accountId, 'd.endpoint_id': endpointId }))
    .where('d.id', '<', before);
}

/**
 * Selects deliveries in the order of their index, newest first. The query uses `between` instead of `endpoint_id = …`.
 * With the equality, PostgreSQL ignores the column in the sort order, and might read the deliveries of all endpoints.
 */
function inOrderOfIndex({ db, accountId, endpointId, before }: Log) {
  return db
    .selectFrom('webhook_deliveries as d')
    .select('d.id')
    .where('d.account_id', '=', accountId)
    .where(d => d.between('d.endpoint_id', endpointId, endpointId))
    .where('d.id', '<', before)
    .orderBy('d.endpoint_id')
    .orderBy('d.id', 'desc');
}
