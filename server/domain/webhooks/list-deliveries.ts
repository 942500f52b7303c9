import { sql } from 'kysely';
import { jsonArrayFrom } from 'kysely/helpers/postgres';
import type { DeliveryState } from '../../entities/webhook.ts';
import type { Administration } from '../administration.ts';
import { requireWebhook } from './find-webhook.ts';

/** A delivery with every try, the first one first. */
export type DeliveryListing = Awaited<ReturnType<typeof listDeliveries>>[number];

export interface DeliveryFilter {
  state?: DeliveryState;
  deliveryId?: number;
  limit: number;
}

/** Lists the deliveries of an endpoint, newest first. */
export async function listDeliveries(
  admin: Administration,
  accountId: number,
  endpointId: number,
  { state, deliveryId, limit }: DeliveryFilter,
) {
  await requireWebhook(admin, accountId, endpointId);
  return admin.db
    .selectFrom('webhook_deliveries as d')
    .innerJoin('events as e', join => join.onRef('e.id', '=', 'd.event_id').on('e.account_id', '=', accountId))
    .select([
      'd.id',
      sql<string>`'evt_' || d.event_id`.as('webhook_id'),
      'e.type',
      'd.state',
      'd.attempt_count',
      'd.created_at',
      'd.next_attempt_at',
      'd.finished_at',
    ])
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
    .where('d.account_id', '=', accountId)
    .where('d.endpoint_id', '=', endpointId)
    .$call(d => (state === undefined ? d : d.where('d.state', '=', state)))
    .$call(d => (deliveryId === undefined ? d : d.where('d.id', '=', deliveryId)))
    .orderBy('d.id', 'desc')
    .limit(limit)
    .execute();
}
