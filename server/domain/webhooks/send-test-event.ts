import { sql } from 'kysely';
import type { TestEventBody } from '../../../contract/events.ts';
import { Event } from '../../entities/event.ts';
import type { Administration } from '../administration.ts';
import { requireEnabledWebhook } from './find-webhook.ts';
import { wakeLanes } from './wake-lanes.ts';

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
    data: body.data,
    body,
    occurredAt: admin.now,
  });
  await admin.em.flush();
  const delivery = await admin.db
    .insertInto('webhook_deliveries')
    .values({
      account_id: accountId,
      endpoint_id: endpointId,
      event_id: event.id,
      created_at: admin.now,
      next_attempt_at: sql<string>`now()`,
    })
    .returning(['id', 'lane'])
    .executeTakeFirstOrThrow();
  await wakeLanes(admin, [{ accountId, endpointId, lane: delivery.lane }]);
  admin.audit.record('webhook.tested', { account_id: accountId, webhook_id: endpointId });
  return delivery.id;
}
