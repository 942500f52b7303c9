import type { EventType } from '../../../contract/events.ts';
import { plannedStatement } from '../../database/statement.ts';
import { type Administration, AdministrationError } from '../administration.ts';

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

const selectWebhooks = plannedStatement<WebhookListing>(`
  select w.id, w.url, w.description, b.slug as board, w.event_types,
    case when w.disabled_at is not null then 'disabled' when w.failing_since is not null then 'failing'
      else 'enabled' end as state,
    w.failing_since, w.disabled_at, w.disabled_reason,
    case when w.previous_secret_expires_at > $3 then w.previous_secret_expires_at end as previous_secret_expires_at,
    (select count(*)::int from webhook_deliveries d where d.endpoint_id = w.id and d.state = 'pending')
      as pending_count,
    w.created_at
  from webhook_endpoints w left join boards b on b.id = w.board_id
  where w.account_id = $1 and ($2::bigint is null or w.id = $2)
  order by w.id`);

export function listWebhooks(admin: Administration, accountId: number): Promise<WebhookListing[]> {
  return admin.query(selectWebhooks, [accountId, null, admin.now]);
}

export async function readWebhook(admin: Administration, accountId: number, endpointId: number) {
  const [webhook] = await admin.query(selectWebhooks, [accountId, endpointId, admin.now]);
  if (!webhook) throw new AdministrationError('not_found', `The account has no webhook ${endpointId}`);
  return webhook;
}
