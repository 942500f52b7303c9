import { type InferResult, sql } from 'kysely';
import { type Administration, AdministrationError } from '../administration.ts';
import { writeEvent } from '../events/present-event.ts';
import { recordedEventOf } from '../events/recorded-event.ts';
import { cutRows, type FirstRows } from '../pagination.ts';
import { requireWebhook } from './find-webhook.ts';

interface DeliveryPlace {
  accountId: number;
  endpointId: number;
  deliveryId: number;
}

/** A delivery with its body, to the letter as it is sent. */
export type DeliveryDetails = InferResult<ReturnType<typeof selectDelivery>>[number] & { body: string };
export type AttemptDetails = InferResult<ReturnType<typeof selectAttempts>>[number];

/** One delivery with its last tries, or those before one: it may have been sent again any number of times. */
export async function readDelivery(
  admin: Administration,
  place: DeliveryPlace,
  { before, limit }: { before: number | undefined; limit: number },
): Promise<{ delivery: DeliveryDetails; attempts: FirstRows<AttemptDetails> }> {
  const { accountId, endpointId, deliveryId } = place;
  await requireWebhook(admin, accountId, endpointId);
  const delivery = await selectDelivery(admin, place).executeTakeFirst();
  if (!delivery) throw new AdministrationError('not_found', `The webhook ${endpointId} has no delivery ${deliveryId}`);
  const attempts = await selectAttempts(admin, place)
    .$call(a => (before === undefined ? a : a.where('a.id', '<', before)))
    .orderBy('a.id', 'desc')
    .limit(limit + 1)
    .execute();
  return { delivery: { ...delivery, body: writeEvent(delivery) }, attempts: cutRows(attempts, limit) };
}

function selectDelivery({ db }: Administration, { accountId, endpointId, deliveryId }: DeliveryPlace) {
  return db
    .selectFrom('webhook_deliveries as d')
    .innerJoin('events as e', join => join.onRef('e.id', '=', 'd.event_id').on('e.account_id', '=', accountId))
    .select([
      'd.id',
      sql<string>`'evt_' || d.event_id`.as('webhook_id'),
      'd.state',
      'd.created_at',
      'd.next_attempt_at',
      'd.finished_at',
    ])
    .select(recordedEventOf)
    .where('d.account_id', '=', accountId)
    .where('d.id', '=', deliveryId)
    .where('d.endpoint_id', '=', endpointId);
}

/** Each try has a status, or an error that says why there is none. */
function selectAttempts({ db }: Administration, { accountId, deliveryId }: DeliveryPlace) {
  return db
    .selectFrom('webhook_attempts as a')
    .select(['a.id', 'a.attempted_at', 'a.duration_ms', 'a.status', 'a.error', 'a.response'])
    .where('a.account_id', '=', accountId)
    .where('a.delivery_id', '=', deliveryId);
}
