import type { ExpressionBuilder } from 'kysely';
import { maxPendingCounted } from '../../../contract/limits.ts';
import type { Tables } from '../../database/tables.ts';
import type { Reading } from '../administration.ts';
import { countAll } from '../bounded-count.ts';
import { cutRows, type FirstRows } from '../pagination.ts';
import { unknownWebhook } from './edit-webhook.ts';

export type WebhookListing = Awaited<ReturnType<typeof listWebhooks>>[number];

/**
 * The state of an endpoint, whose SQL alias is `w`. A failing endpoint still gets events. A disabled endpoint gets no
 * events.
 */
export function stateOfEndpoint(w: ExpressionBuilder<Tables & { w: Tables['webhook_endpoints'] }, 'w'>) {
  return w
    .case()
    .when('w.disabled_at', 'is not', null)
    .then('disabled' as const)
    .when('w.failing_since', 'is not', null)
    .then('failing' as const)
    .else('enabled' as const)
    .end();
}

/**
 * Selects endpoints. Counts each endpoint's pending deliveries up to mostCounted, or all of them if mostCounted is
 * null.
 */
function webhooksOf({ db, now }: Reading, accountId: number, mostCounted: number | null) {
  return db
    .selectFrom('webhook_endpoints as w')
    .leftJoin('boards as b', join => join.onRef('b.id', '=', 'w.board_id').on('b.account_id', '=', accountId))
    .leftJoin('api_tokens as t', join => join.onRef('t.id', '=', 'w.token_id').on('t.account_id', '=', accountId))
    .select(['w.id', 'w.url', 'w.description', 'b.slug as board', 'w.event_types', 'w.token_id', 't.name as token'])
    .select(w => [
      stateOfEndpoint(w).as('state'),
      'w.failing_since',
      'w.disabled_at',
      'w.disabled_reason',
      w
        .case()
        .when('w.previous_secret_expires_at', '>', now.toISOString())
        .then(w.ref('w.previous_secret_expires_at'))
        .end()
        .as('previous_secret_expires_at'),
    ])
    .select(w => {
      const pending = w
        .selectFrom('webhook_deliveries as d')
        .where('d.account_id', '=', accountId)
        .whereRef('d.endpoint_id', '=', 'w.id')
        .where('d.state', '=', 'pending')
        // Sorts by lane, so that PostgreSQL uses the index of pending deliveries. Otherwise PostgreSQL would scan the
        // table if one endpoint has most of the pending deliveries.
        .orderBy('d.lane')
        .orderBy('d.id');
      return countAll(pending.limit(mostCounted)).as('pending_count');
    })
    .select('w.created_at')
    .where('w.account_id', '=', accountId);
}

export function listWebhooks(admin: Reading, accountId: number) {
  return webhooksOf(admin, accountId, null).orderBy('w.id').execute();
}

interface WebhookPage {
  /** Lists only endpoints of this board. Undefined to list all endpoints of the account. */
  boardId?: number;
  /** Lists only endpoints whose ids are smaller than this id. */
  before?: number | undefined;
  offset?: number;
  limit: number;
}

/** Lists endpoints without their secrets, newest first. */
export async function listWebhookPage(
  reading: Reading,
  accountId: number,
  { boardId, before = Number.MAX_SAFE_INTEGER, offset = 0, limit }: WebhookPage,
): Promise<FirstRows<WebhookListing>> {
  const rows = await webhooksOf(reading, accountId, maxPendingCounted)
    .where('w.id', '<', before)
    .$call(webhooks => (boardId === undefined ? webhooks : webhooks.where('w.board_id', '=', boardId)))
    .orderBy('w.id', 'desc')
    .offset(offset)
    .limit(limit + 1)
    .execute();
  return cutRows(rows, limit);
}

/**
 * Reads an endpoint. Counts its pending deliveries up to mostCounted, or all of them if mostCounted is null. If a board
 * is given, reads the endpoint only if it belongs to this board.
 */
export async function readWebhook(
  reading: Reading,
  accountId: number,
  endpointId: number,
  mostCounted: number | null = null,
  boardId?: number,
): Promise<WebhookListing> {
  return webhooksOf(reading, accountId, mostCounted)
    .where('w.id', '=', endpointId)
    .$call(webhooks => (boardId === undefined ? webhooks : webhooks.where('w.board_id', '=', boardId)))
    .executeTakeFirstOrThrow(() => unknownWebhook(endpointId));
}

/** Throws not_found if the account has no such endpoint, or if the endpoint does not belong to the given board. */
export async function checkWebhook(
  { db }: Reading,
  accountId: number,
  endpointId: number,
  boardId?: number,
): Promise<void> {
  await db
    .selectFrom('webhook_endpoints as w')
    .select('w.id')
    .where(w => w.and({ 'w.account_id': accountId, 'w.id': endpointId }))
    .$call(webhooks => (boardId === undefined ? webhooks : webhooks.where('w.board_id', '=', boardId)))
    .executeTakeFirstOrThrow(() => unknownWebhook(endpointId));
}
