import type { TestEventBody } from '../../../contract/events.ts';
import { statement } from '../../database/statement.ts';
import { Event } from '../../entities/event.ts';
import { wakeLane } from '../../events/webhooks/wake-lanes.ts';
import type { Administration } from '../administration.ts';
import { requireEnabledWebhook } from './find-webhook.ts';

const insertDelivery = statement<{ id: number; lane: number }>(
  'insert_test_delivery',
  `insert into webhook_deliveries (account_id, endpoint_id, event_id, created_at, next_attempt_at)
  values ($1, $2, $3, $4, now())
  returning id, lane`,
);

/** Sends an endpoint an event that tells of nothing, whatever types it wants, and answers the delivery's id. */
export async function sendTestEvent(admin: Administration, accountId: number, endpointId: number): Promise<number> {
  await requireEnabledWebhook(admin, accountId, endpointId);
  const body: TestEventBody = {
    type: 'webhook.test',
    timestamp: admin.now.toISOString(),
    data: { endpoint_id: endpointId },
  };
  const event = admin.em.create(Event, {
    accountId,
    boardId: null,
    ideaId: null,
    actorId: null,
    type: body.type,
    body,
    occurredAt: admin.now,
  });
  await admin.em.flush();
  const [delivery] = await admin.query(insertDelivery, [accountId, endpointId, event.id, admin.now]);
  if (!delivery) throw new Error('The delivery was not made');
  await wakeLane(admin, { endpointId, lane: delivery.lane });
  admin.audit.record('webhook.tested', { account_id: accountId, webhook_id: endpointId });
  return delivery.id;
}
