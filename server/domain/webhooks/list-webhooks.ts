import type { EventType } from '../../../contract/events.ts';
import { plannedStatement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';

/** An endpoint without anything of its secrets. */
export interface WebhookListing {
  id: number;
  url: string;
  description: string;
  /** Null: every board of the account. */
  board: string | null;
  /** Empty: every type. */
  event_types: EventType[];
  state: 'enabled' | 'failing' | 'disabled';
  failing_since: string | null;
  disabled_at: string | null;
  disabled_reason: string | null;
  /** Until when the secret before signs too. */
  previous_secret_expires_at: string | null;
  pending_count: number;
  created_at: string;
}

/** At an endpoint that fails for days, a great deal waits: who only looks does not need to know how much exactly. */
export const mostPendingCounted = 1_000;

const listing = `select w.id, w.url, w.description, b.slug as board, w.event_types,
    case when w.disabled_at is not null then 'disabled' when w.failing_since is not null then 'failing'
      else 'enabled' end as state,
    w.failing_since, w.disabled_at, w.disabled_reason,
    case when w.previous_secret_expires_at > $2 then w.previous_secret_expires_at end as previous_secret_expires_at,
    (
      select count(*)::int from (
        select from webhook_deliveries d where d.endpoint_id = w.id and d.state = 'pending'
        -- In the order of its index, which is then what is read: where most endpoints have nothing that waits and one
        -- has a great deal, the whole table looked cheaper.
        order by d.lane, d.id
        limit $3::bigint
      ) pending
    ) as pending_count,
    w.created_at`;

const selectWebhooks = plannedStatement<WebhookListing>(`
  ${listing}
  from webhook_endpoints w left join boards b on b.id = w.board_id
  where w.account_id = $1 and ($4::bigint is null or w.id = $4)
  order by w.id`);

const selectWebhookPage = plannedStatement<WebhookListing>(`
  ${listing}
  from webhook_endpoints w left join boards b on b.id = w.board_id
  where w.account_id = $1 and ($4::bigint is null or w.id < $4)
  order by w.id desc
  limit $5`);

export function listWebhooks(admin: Administration, accountId: number): Promise<WebhookListing[]> {
  return admin.query(selectWebhooks, [accountId, admin.now, null, null]);
}

/** The newest of them, or those before one; what waits is counted to mostPendingCounted. */
export async function listWebhookPage(
  admin: Administration,
  accountId: number,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<FirstRows<WebhookListing>> {
  const values = [accountId, admin.now, mostPendingCounted, before ?? null, limit + 1];
  return cutRows(await admin.query(selectWebhookPage, values), limit);
}

/** One of them; what waits is counted to the end unless told otherwise. */
export async function readWebhook(
  admin: Administration,
  accountId: number,
  endpointId: number,
  mostCounted: number | null = null,
): Promise<WebhookListing> {
  const [webhook] = await admin.query(selectWebhooks, [accountId, admin.now, mostCounted, endpointId]);
  if (!webhook) throw new AdministrationError('not_found', `The account has no webhook ${endpointId}`);
  return webhook;
}
