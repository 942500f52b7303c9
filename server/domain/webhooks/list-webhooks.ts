import type { ExpressionBuilder } from 'kysely';
import type { Tables } from '../../database/tables.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { countAll } from '../bounded-count.ts';
import { cutRows, type FirstRows } from '../pagination.ts';

export type WebhookListing = Awaited<ReturnType<typeof listWebhooks>>[number];

/**
 * Pages count the pending deliveries of an endpoint only up to this number. An endpoint that has failed for days may
 * have very many.
 */
export const mostPendingCounted = 1_000;

/** The state of an endpoint w. A failing endpoint still gets events. A disabled endpoint gets none. */
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

/** Selects endpoints. Counts each endpoint's pending deliveries up to mostCounted, or all if mostCounted is null. */
function webhooksOf({ db, now }: Administration, accountId: number, mostCounted: number | null) {
  return db
    .selectFrom('webhook_endpoints as w')
    .leftJoin('boards as b', join => join.onRef('b.id', '=', 'w.board_id').on('b.account_id', '=', accountId))
    .select(['w.id', 'w.url', 'w.description', 'b.slug as board', 'w.event_types'])
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

export function listWebhooks(admin: Administration, accountId: number) {
  return webhooksOf(admin, accountId, null).orderBy('w.id').execute();
}

/** Lists endpoints without their secrets, newest first. If `before` is given, lists only endpoints with smaller ids. */
export async function listWebhookPage(
  admin: Administration,
  accountId: number,
  { before = Number.MAX_SAFE_INTEGER, limit }: { before: number | undefined; limit: number },
): Promise<FirstRows<WebhookListing>> {
  const rows = await webhooksOf(admin, accountId, mostPendingCounted)
    .where('w.id', '<', before)
    .orderBy('w.id', 'desc')
    .limit(limit + 1)
    .execute();
  return cutRows(rows, limit);
}

/** Reads an endpoint. Counts its pending deliveries up to mostCounted, or all of them if mostCounted is null. */
export async function readWebhook(
  admin: Administration,
  accountId: number,
  endpointId: number,
  mostCounted: number | null = null,
): Promise<WebhookListing> {
  return webhooksOf(admin, accountId, mostCounted)
    .where('w.id', '=', endpointId)
    .executeTakeFirstOrThrow(
      () => new AdministrationError('not_found', t('refusals.webhook.unknown', { id: endpointId })),
    );
}
