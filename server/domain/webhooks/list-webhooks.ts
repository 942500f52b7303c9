import type { InferResult } from 'kysely';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';

/** An endpoint without anything of its secrets. */
export type WebhookListing = InferResult<ReturnType<typeof webhooksOf>>[number];

/** Where a page stops counting: an endpoint that fails for days has very many pending deliveries. */
export const mostPendingCounted = 1_000;

/** The endpoints w of an account. Counts their pending deliveries up to mostCounted, or all of them. */
function webhooksOf({ db, now }: Administration, accountId: number, mostCounted: number | null) {
  return db
    .selectFrom('webhook_endpoints as w')
    .leftJoin('boards as b', join => join.onRef('b.id', '=', 'w.board_id').on('b.account_id', '=', accountId))
    .select(w => [
      'w.id',
      'w.url',
      'w.description',
      'b.slug as board',
      'w.event_types',
      w
        .case()
        .when('w.disabled_at', 'is not', null)
        .then('disabled' as const)
        .when('w.failing_since', 'is not', null)
        .then('failing' as const)
        .else('enabled' as const)
        .end()
        .as('state'),
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
    .select(w =>
      w
        .selectFrom(
          w
            .selectFrom('webhook_deliveries as d')
            .where('d.account_id', '=', accountId)
            .whereRef('d.endpoint_id', '=', 'w.id')
            .where('d.state', '=', 'pending')
            // In the order of its index, so that PostgreSQL reads the index: where most endpoints have nothing that
            // waits and one has a great deal, the whole table looked cheaper.
            .orderBy('d.lane')
            .orderBy('d.id')
            .$call(d => (mostCounted === null ? d : d.limit(mostCounted)))
            .as('pending'),
        )
        .select(pending => pending.fn.countAll<number>().as('count'))
        .$asScalar()
        .$notNull()
        .as('pending_count'),
    )
    .select('w.created_at')
    .where('w.account_id', '=', accountId);
}

export function listWebhooks(admin: Administration, accountId: number): Promise<WebhookListing[]> {
  return webhooksOf(admin, accountId, null).orderBy('w.id').execute();
}

/** Lists the newest endpoints, or those before one. Counts pending deliveries up to mostPendingCounted. */
export async function listWebhookPage(
  admin: Administration,
  accountId: number,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<FirstRows<WebhookListing>> {
  const rows = await webhooksOf(admin, accountId, mostPendingCounted)
    .$call(w => (before === undefined ? w : w.where('w.id', '<', before)))
    .orderBy('w.id', 'desc')
    .limit(limit + 1)
    .execute();
  return cutRows(rows, limit);
}

/** Reads one endpoint. Counts its pending deliveries up to mostCounted, or all of them. */
export async function readWebhook(
  admin: Administration,
  accountId: number,
  endpointId: number,
  mostCounted: number | null = null,
): Promise<WebhookListing> {
  const webhook = await webhooksOf(admin, accountId, mostCounted).where('w.id', '=', endpointId).executeTakeFirst();
  if (!webhook) throw new AdministrationError('not_found', `The account has no webhook ${endpointId}`);
  return webhook;
}
