import { beforeEach, expect, test } from 'vitest';
import { chatUrlPurpose } from '../../server/domain/chat/chat-url.ts';
import { mergeIdea } from '../../server/domain/merging/merge-idea.ts';
import { followIdea } from '../../server/domain/notifications/followers.ts';
import { listNotifications } from '../../server/domain/notifications/notifications.ts';
import type { ExtensionEvent } from '../../server/extensions/extension.ts';
import { renewSubscriptions } from '../../server/extensions/subscriptions.ts';
import { extensionOf } from '../extensions/with-extensions.ts';
import { createMember, createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { runJobs, waitingJobs } from '../helpers/jobs.ts';
import { startReceiver } from '../helpers/receiver.ts';
import { runAsUser } from '../helpers/run-as-user.ts';
import { startServerForFile } from '../helpers/server.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { addWebhook, administer, type TestWebhook, testSecretBox, verify } from '../helpers/webhooks.ts';

/*
 * Older server versions store events with a body but without data, and add jobs without an account id. Workers of the
 * current version must deliver these events and run these jobs.
 */

const heard: ExtensionEvent[] = [];
const listener = extensionOf({ name: 'listener', on: { 'idea.merged': async event => heard.push(event) } });

let world: World;
let webhook: TestWebhook;
let channelId: number;
let userId: number;
let event: { id: string; data: object; body: { data: { idea: { id: number }; target: { id: number } } } };

const smtp = closeAfterAll(await startSmtpReceiver());
const receiver = closeAfterAll(await startReceiver(200));
const server = await startServerForFile({
  environment: { WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32', SMTP_URL: smtp.url },
  dependencies: { extensions: [listener] },
});

/**
 * Merges two ideas. Then deletes the jobs of the recorded event and removes the event's `data`. A webhook, a chat
 * channel, a follower and an extension are subscribed to the event.
 */
beforeEach(async () => {
  await renewSubscriptions(server.database, [listener]);
  world = await createWorld(server);
  webhook = await addWebhook(server, world, { url: `${receiver.url}/webhook` });
  const [channel] = await server.sql<{ id: number }>(
    `insert into chat_channels (account_id, board_id, kind, url) values ($1, $2, 'slack', $3) returning id`,
    [world.accountId, world.boardId, testSecretBox.seal(`${receiver.url}/chat`, chatUrlPurpose)],
  );
  channelId = channel?.id ?? 0;
  const ideaId = await insertIdea(server, world, { title: 'Export' });
  const targetId = await insertIdea(server, world, { title: 'Themes' });
  userId = await createMember(server, world.accountId, 'member', 'Grace');
  await server.sql(`update users set notification_email = 'grace@example.com' where id = $1`, [userId]);
  await administer(server, admin => followIdea(admin, world.accountId, { ideaId: targetId, userId }));
  await runAsUser(server, world, world.ownerId, op => mergeIdea(op, ideaId, targetId));
  await server.sql('delete from graphile_worker._private_jobs');
  const rows = await server.sql<typeof event>('select id, data, body from events where account_id = $1', [
    world.accountId,
  ]);
  event = rows[0] as typeof event;
  await store(null, event.body);
  receiver.received.length = 0;
  smtp.received.length = 0;
  heard.length = 0;
});

/** Sets the columns `data` and `body` of the event in the database. */
const store = (data: object | null, body: object) =>
  server.sql('update events set data = $2, body = $3 where id = $1', [
    event.id,
    data && JSON.stringify(data),
    JSON.stringify(body),
  ]);

/** The lane (delivery queue) of the event, which the SQL function record_event computes from the idea's id. */
const laneOfEvent = () => event.body.data.idea.id % 8;

/** Adds the field `url` to the two ideas in the data of an event, because the database does not store this field. */
function withUrls({ idea, target, ...data }: (typeof event)['body']['data']) {
  const withUrl = (one: { id: number }) => ({
    ...one,
    url: `${server.config.BASE_URL}/b/${world.boardSlug}/ideas/${one.id}`,
  });
  return { ...data, idea: withUrl(idea), target: withUrl(target) };
}

/** Adds a job to the queue, and runs this job and all jobs that the job adds. */
async function runJob(task: string, payload: unknown) {
  await server.sql('select graphile_worker.add_job($1, $2::json)', [task, JSON.stringify(payload)]);
  expect(await runJobs(server)).toEqual([]);
  expect(await waitingJobs(server)).toEqual([]);
}

test('a webhook gets an event of an older server version with the body that the older version stored', async () => {
  await runJob('deliver_webhooks', { endpoint_id: webhook.id, lane: laneOfEvent() });
  expect(receiver.received.map(one => verify(one, webhook.secret))).toEqual([event.body]);
});

test('a chat channel gets a post about an event that an older server version stored', async () => {
  await runJob('post_to_chat', { channel_id: channelId, event_id: event.id });
  expect(receiver.received.map(({ body }) => JSON.parse(body).text)).toEqual([
    'The owner merged Export into Themes · A board',
  ]);
});

test('an extension gets an event of an older server version with the body that the older version stored', async () => {
  await runJob('extension_event:listener', { event_id: event.id });
  expect(heard).toEqual([{ ...event.body, id: `evt_${event.id}` }]);
});

test('a notification job from the queue of an older server version still notifies users in the app, by mail and in a chat', async () => {
  await runJob('tell_people', { event_id: event.id });
  expect(smtp.received.map(({ to, mail }) => [to, mail.subject])).toEqual([
    ['grace@example.com', '“Export” was merged into “Themes”'],
  ]);
  expect(receiver.received.map(({ path }) => path)).toEqual(['/chat']);
  expect(await listNotifications(server.database, userId, null, { limit: 10 })).toMatchObject([
    { kind: 'idea.merged', board: world.boardSlug, title: 'Export', target_title: 'Themes', actor: 'The owner' },
  ]);
});

test('a mail job from the queue of an older server version still sends the mails of its notifications', async () => {
  const [notification] = await server.sql<{ id: number }>(
    `insert into notifications (account_id, user_id, event_id, kind) values ($1, $2, $3, 'idea.merged') returning id`,
    [world.accountId, userId, event.id],
  );
  // The id 999_999 stands for a notification that was deleted after the mail job had been added to the queue.
  await runJob('mail_notifications', [999_999, notification?.id]);
  expect(smtp.received.map(({ to }) => to)).toEqual(['grace@example.com']);
});

test('a job from the queue of an older server version ends without an error if its event or notification is deleted', async () => {
  const gone = crypto.randomUUID();
  await runJob('tell_people', { event_id: gone });
  await runJob('extension_event:listener', { event_id: gone });
  await runJob('mail_notifications', [999_999]);
  expect([receiver.received, smtp.received, heard]).toEqual([[], [], []]);
});

test('an event with stored data but without a stored body reaches webhooks, extensions, users and chat channels with this data', async () => {
  await store(event.data, {});
  const { accountId } = world;
  await runJob('deliver_webhooks', { account_id: accountId, endpoint_id: webhook.id, lane: laneOfEvent() });
  await runJob('extension_event:listener', { account_id: accountId, event_id: event.id });
  await runJob('tell_people', { account_id: accountId, event_id: event.id });
  const bodyOf = (path: string) => receiver.received.find(one => one.path === path)?.body ?? '';
  const expected = { ...event.body, data: withUrls(event.body.data) };
  expect(JSON.parse(bodyOf('/webhook'))).toEqual(expected);
  expect(heard).toEqual([{ ...expected, id: `evt_${event.id}` }]);
  expect(JSON.parse(bodyOf('/chat')).text).toBe('The owner merged Export into Themes · A board');
  expect(smtp.received.map(({ mail }) => mail.subject)).toEqual(['“Export” was merged into “Themes”']);
  expect(await listNotifications(server.database, userId, null, { limit: 10 })).toMatchObject([
    { title: 'Export', target_title: 'Themes' },
  ]);
});
