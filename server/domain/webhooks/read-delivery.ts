import { plannedStatement } from '../../database/statement.ts';
import type { DeliveryState } from '../../entities/webhook-delivery.ts';
import { type Administration, AdministrationError } from '../administration.ts';
import { cutRows, type FirstRows } from '../pagination.ts';
import { requireWebhook } from './find-webhook.ts';

/** A delivery with what is sent. */
export interface DeliveryDetails {
  id: number;
  webhook_id: string;
  type: string;
  /** To the letter as it is sent. */
  body: string;
  state: DeliveryState;
  created_at: string;
  next_attempt_at: string | null;
  finished_at: string | null;
}

export interface AttemptDetails {
  id: number;
  attempted_at: string;
  duration_ms: number;
  /** What was answered; null with an error. */
  status: number | null;
  /** Why there was no answer. */
  error: string | null;
  /** The beginning of the answer. */
  response: string | null;
}

const selectDelivery = plannedStatement<DeliveryDetails>(`
  select d.id, 'evt_' || d.event_id as webhook_id, e.type, e.body::text as body, d.state, d.created_at,
    d.next_attempt_at, d.finished_at
  from webhook_deliveries d join events e on e.id = d.event_id
  where d.id = $1 and d.endpoint_id = $2`);

const selectAttempts = plannedStatement<AttemptDetails>(`
  select a.id, a.attempted_at, a.duration_ms, a.status, a.error, a.response
  from webhook_attempts a
  where a.delivery_id = $1 and ($2::bigint is null or a.id < $2)
  order by a.id desc
  limit $3`);

/** One delivery with its last tries, or those before one: it may have been sent again any number of times. */
export async function readDelivery(
  admin: Administration,
  { accountId, endpointId, deliveryId }: { accountId: number; endpointId: number; deliveryId: number },
  { before, limit }: { before: number | undefined; limit: number },
): Promise<{ delivery: DeliveryDetails; attempts: FirstRows<AttemptDetails> }> {
  await requireWebhook(admin, accountId, endpointId);
  const [delivery] = await admin.query(selectDelivery, [deliveryId, endpointId]);
  if (!delivery) throw new AdministrationError('not_found', `The webhook ${endpointId} has no delivery ${deliveryId}`);
  const attempts = await admin.query(selectAttempts, [deliveryId, before ?? null, limit + 1]);
  return { delivery, attempts: cutRows(attempts, limit) };
}
