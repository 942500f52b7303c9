import { expect, test } from 'vitest';
import { removeAccountJobs } from '../../../server/domain/erasure/jobs.ts';
import { sendTestEvent } from '../../../server/domain/webhooks/queue-deliveries.ts';
import { createDatabaseForFile } from '../../helpers/database.ts';
import { createWorld, insertIdea, type World } from '../../helpers/fixtures.ts';
import { waitingJobs } from '../../helpers/jobs.ts';
import { addWebhook, administer } from '../../helpers/webhooks.ts';

const db = await createDatabaseForFile();

/** The ids of the rows that the payloads of the test jobs contain. */
interface Named {
  world: World;
  endpointId: number;
  channelId: number;
  eventId: string;
  notificationId: number;
}

async function createNamed(): Promise<Named> {
  const world = await createWorld(db);
  const { accountId, boardId, ownerId } = world;
  await insertIdea(db, world);
  const { id: endpointId } = await addWebhook(db, world, { url: 'https://example.com/' });
  await administer(db, admin => sendTestEvent(admin, accountId, endpointId));
  const [row] = await db.sql<Omit<Named, 'world' | 'endpointId'>>(
    `with channel as (
      insert into chat_channels (account_id, board_id, kind, url) values ($1, $2, 'slack', '\\x00') returning id
    ), notification as (
      insert into notifications (account_id, user_id, endpoint_id, kind) values ($1, $3, $4, 'webhook.disabled') returning id
    )
    select channel.id as "channelId", e.id as "eventId", notification.id as "notificationId"
    from channel, notification, events e where e.account_id = $1`,
    [accountId, boardId, ownerId, endpointId],
  );
  return { world, endpointId, ...(row as Omit<Named, 'world' | 'endpointId'>) };
}

/**
 * Returns two jobs for each task: one as this server version adds it, and one as the previous server version adds it.
 */
const jobsOf = ({ world, endpointId, channelId, eventId, notificationId }: Named): [string, unknown][] => {
  const account_id = world.accountId;
  return [
    ['deliver_webhooks', { account_id, endpoint_id: endpointId, lane: 1 }],
    ['deliver_webhooks', { endpoint_id: endpointId, lane: 1 }],
    ['post_to_chat', { account_id, channel_id: channelId, event_id: eventId }],
    ['post_to_chat', { channel_id: channelId, event_id: eventId }],
    ['tell_people', { account_id, event_id: eventId }],
    ['tell_people', { event_id: eventId }],
    ['extension_event:listener', { account_id, event_id: eventId }],
    ['mail_people', [{ account_id, id: notificationId }]],
    ['mail_notifications', [999_999, notificationId]],
    ['mail_invitation', { account_id, invitation_id: 1 }],
    ['mail_account_deletion', { account_id, user_id: world.ownerId }],
    ['mail_summary', { account_id, user_id: world.ownerId, frequency: 'daily' }],
    ['mail_token_expiry', { account_id, token_id: 1, notice_days: 7 }],
    ['replace_copies_of_idea', { account_id, idea_id: 1 }],
    ['touch_ideas', { account_id, idea_ids: [1] }],
  ];
};

test("the erasure of an account removes the account's queued jobs, also jobs of the previous server version, and no other jobs", async () => {
  const [erased, other] = [await createNamed(), await createNamed()];
  const { accountId } = erased.world;
  const kept: [string, unknown][] = [
    ...jobsOf(other),
    // An extension may add jobs with any payload, even with a field account_id. The erasure must keep these jobs.
    ['ext:listener:note', { account_id: accountId }],
    ['ext:listener:note', { account_id: 'acme' }],
    ['record_audit_event', { account_id: accountId, event: 'account.erased' }],
    ['extension_event:listener', { event_id: erased.eventId }],
  ];
  await db.sql('delete from graphile_worker._private_jobs');
  for (const [task, payload] of [...jobsOf(erased), ...kept]) {
    await db.sql('select graphile_worker.add_job($1, $2::json)', [task, JSON.stringify(payload)]);
  }
  const counts = {};
  await removeAccountJobs(db.database, { accountId, batchSize: 4 }, counts);
  expect((await waitingJobs(db)).map(({ task, payload }) => [task, payload])).toEqual(kept);
  expect(counts).toEqual({ jobs: jobsOf(erased).length });
});
