import { plannedStatement } from '../../database/statement.ts';
import type { DeliveryState } from '../../entities/webhook-delivery.ts';
import type { Administration } from '../administration.ts';
import { requireWebhook } from './find-webhook.ts';

interface AttemptListing {
  attempted_at: string;
  duration_ms: number;
  /** What was answered; null with an error. */
  status: number | null;
  /** Why there was no answer. */
  error: string | null;
  /** The beginning of the answer. */
  response: string | null;
}

export interface DeliveryListing {
  id: number;
  webhook_id: string;
  type: string;
  state: DeliveryState;
  /** Tries since it was last begun. */
  attempt_count: number;
  created_at: string;
  next_attempt_at: string | null;
  finished_at: string | null;
  /** Every try, the first one first. */
  attempts: AttemptListing[];
}

const selectDeliveries = plannedStatement<DeliveryListing>(`
  select d.id, 'evt_' || d.event_id as webhook_id, e.type, d.state, d.attempt_count, d.created_at, d.next_attempt_at,
    d.finished_at,
    coalesce((
      select json_agg(json_build_object(
        'attempted_at', a.attempted_at, 'duration_ms', a.duration_ms, 'status', a.status, 'error', a.error,
        'response', a.response
      ) order by a.id)
      from webhook_attempts a where a.delivery_id = d.id
    ), '[]') as attempts
  from webhook_deliveries d join events e on e.id = d.event_id
  where d.endpoint_id = $1 and ($2::text is null or d.state = $2) and ($3::bigint is null or d.id = $3)
  order by d.id desc
  limit $4`);

export interface DeliveryFilter {
  state?: DeliveryState;
  deliveryId?: number;
  limit: number;
}

/** The deliveries of an endpoint with every try, newest first. */
export async function listDeliveries(
  admin: Administration,
  accountId: number,
  endpointId: number,
  { state, deliveryId, limit }: DeliveryFilter,
): Promise<DeliveryListing[]> {
  await requireWebhook(admin, accountId, endpointId);
  return admin.query(selectDeliveries, [endpointId, state ?? null, deliveryId ?? null, limit]);
}
