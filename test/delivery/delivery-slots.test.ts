import type { ServerResponse } from 'node:http';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { buildDeliverySlots } from '../../server/delivery/webhooks/delivery-slots.ts';
import { chatUrlPurpose } from '../../server/domain/chat/chat-url.ts';
import type { Lane } from '../../server/domain/webhooks/wake-lanes.ts';
import { buildAddressGuard } from '../../server/outgoing/address-guard.ts';
import { buildOutgoingRequests } from '../../server/outgoing/outgoing-request.ts';
import { loadChildServer } from '../helpers/child-servers.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { hang, type Receiver, startReceiverForTest } from '../helpers/receiver.ts';
import { startSmtpReceiver } from '../helpers/smtp-receiver.ts';
import { addWebhook, deliveriesOf, eventually, testSecretBox } from '../helpers/webhooks.ts';
import { startWorkerForTest, workerConfig } from '../helpers/worker.ts';

const db = await createDatabaseForFile();

const lanes = 8;

// Removes the work that the previous test left behind. Its receivers are closed, and a receiver of the next test may get
// the port of one of them.
beforeEach(() =>
  db.sql(`with jobs as (delete from graphile_worker._private_jobs), posts as (delete from chat_channels)
    delete from webhook_deliveries`),
);

/** Creates an account with eight ideas. Each idea's events have their own lane (delivery queue) at an endpoint. */
async function createAccount() {
  const world = await createWorld(db);
  const ideas: number[] = [];
  for (let n = 0; n < lanes; n++) ideas.push(await insertIdea(db, world));
  return { world, ideas };
}

/** Records one status change event for each idea. A request to change the status runs the same SQL function. */
async function record(ideas: number[]) {
  for (const ideaId of ideas) {
    await db.sql(
      `select record_event(i.account_id, 'idea.status_changed', i.id, null, null, null, '{}', now())
      from ideas i where i.id = $1`,
      [ideaId],
    );
  }
}

/**
 * Starts a worker whose request timeout is longer than the test, so that a hanging endpoint never counts as failing. By
 * default, `quickMs` is also longer than the test, so that no endpoint counts as slow.
 */
function startPatientWorker(environment: Record<string, string> = {}, quickMs = 600_000) {
  const guard = buildAddressGuard(workerConfig().WEBHOOK_ALLOWED_CIDRS);
  const requests = buildOutgoingRequests({ guard, timeoutMs: 600_000, quickMs });
  onTestFinished(() => requests.close());
  return startWorkerForTest(db, { requests, environment, timing: { stopPatienceMs: 300 } });
}

/**
 * The time after which a receiver counts as slow. A quick receiver never needs so long, not even on a busy machine.
 */
const quickMs = 1_500;

/**
 * Makes a receiver delay its responses. The returned function sends the delayed responses. After that, the receiver
 * answers each request with 204 at once.
 */
function hold(receiver: Receiver): () => void {
  const held: ServerResponse[] = [];
  receiver.respondWith(response => held.push(response));
  return () => {
    receiver.respondWith(204);
    for (const response of held.splice(0)) response.writeHead(204).end();
  };
}

/** Waits until a webhook endpoint has accepted all of its deliveries. */
const delivered = (endpointId: number) =>
  eventually(async () => {
    expect(new Set((await deliveriesOf(db, endpointId)).map(one => one.state))).toEqual(new Set(['delivered']));
  });

test('a new webhook endpoint gets one delivery at a time until it has answered a delivery quickly, and then up to eight at a time', async () => {
  const receiver = await startReceiverForTest();
  const { world, ideas } = await createAccount();
  const { id } = await addWebhook(db, world, { url: receiver.url });
  const neighbour = await startReceiverForTest();
  await addWebhook(db, world, { url: neighbour.url });
  await startPatientWorker();
  const release = hold(receiver);
  await record(ideas);
  await receiver.waitForRequests(1);
  // The worker starts the job that was added first. So when the last delivery to the second endpoint arrives, all eight
  // jobs for the first endpoint have run.
  await neighbour.waitForRequests(lanes);
  expect(receiver.maxConcurrent()).toBe(1);
  expect((await deliveriesOf(db, id)).map(one => one.state)).toEqual(Array(lanes).fill('pending'));
  release();
  await receiver.waitForRequests(lanes);
  await delivered(id);

  const releaseAll = hold(receiver);
  await record(ideas);
  await receiver.waitForRequests(2 * lanes);
  expect(receiver.maxConcurrent()).toBe(lanes);
  releaseAll();
  await delivered(id);
});

test('when a delivery to a healthy webhook endpoint ends, all deliveries that wait for this endpoint may start, even while another endpoint hangs', () => {
  const slots = buildDeliverySlots(16, 1_000);
  const hanging = { accountId: 1, endpointId: 1, lane: 0 };
  const healthy = Array.from({ length: lanes }, (_, lane) => ({ accountId: 1, endpointId: 2, lane }));
  const [first, ...others] = healthy as [Lane, ...Lane[]];
  expect(slots.take(hanging)).toBe(true);
  slots.begin(hanging);
  expect(slots.take(first)).toBe(true);
  for (const lane of others) expect(slots.take(lane)).toBe(false);
  slots.begin(first);
  expect(slots.end(first, false)).toEqual([]);
  expect(slots.release(first)).toEqual(others);
});

test('if a process is killed while webhook deliveries wait in its memory for a free slot, another process sends these deliveries', async () => {
  const receiver = await startReceiverForTest(hang);
  const { world, ideas } = await createAccount();
  const { id } = await addWebhook(db, world, { url: receiver.url });
  const child = loadChildServer(db.url, { WITHOUT_HTTP: '1' });
  await child.begin();
  await record(ideas);
  await receiver.waitForRequests(1);
  // Only the job of the running delivery is still in the queue. The jobs of the waiting deliveries have ended. Only the
  // memory of the worker process contains the information that these deliveries wait.
  await eventually(async () => {
    const jobs = await db.sql(`select id from graphile_worker._private_jobs where payload->>'endpoint_id' = $1`, [
      String(id),
    ]);
    expect(jobs).toHaveLength(1);
  });
  await child.kill();
  receiver.respondWith(204);
  await startWorkerForTest(db, { timing: { recoveryIntervalMs: 100 } });
  await delivered(id);
  expect(receiver.received).toHaveLength(1 + lanes);
});

test('a worker sends only one delivery at a time to a webhook endpoint that responds with 200 but slowly', async () => {
  const receiver = await startReceiverForTest(response => {
    setTimeout(() => response.writeHead(200).end(), quickMs + 100);
  });
  const { world, ideas } = await createAccount();
  const { id } = await addWebhook(db, world, { url: receiver.url });
  await startPatientWorker({}, quickMs);
  await record(ideas.slice(0, 4));
  await delivered(id);
  expect(receiver.received).toHaveLength(4);
  expect(receiver.maxConcurrent()).toBe(1);
});

test('quick webhook endpoints of one account get at most half of all concurrent deliveries, so another account gets its deliveries', async () => {
  const receiver = await startReceiverForTest();
  const { world, ideas } = await createAccount();
  const endpoints = [];
  for (const path of ['a', 'b', 'c']) endpoints.push(await addWebhook(db, world, { url: `${receiver.url}/${path}` }));
  await startPatientWorker({ WORKER_CONCURRENCY: '12' });
  await record(ideas.slice(0, 1));
  for (const { id } of endpoints) await delivered(id);
  const before = receiver.received.length;

  const release = hold(receiver);
  await record(ideas);
  await receiver.waitForRequests(before + 12);
  const stranger = await createAccount();
  const elsewhere = await startReceiverForTest();
  const { id } = await addWebhook(db, stranger.world, { url: elsewhere.url });
  await record(stranger.ideas);
  await delivered(id);
  // All deliveries of the other account have arrived, although twelve deliveries of the first account still wait for a
  // response.
  expect(receiver.received).toHaveLength(before + 12);
  expect(receiver.maxConcurrent()).toBe(12);
  release();
  for (const endpoint of endpoints) await delivered(endpoint.id);
  expect(receiver.received).toHaveLength(before + 3 * lanes);
});

test('twenty hanging webhook endpoints use only four of the twelve concurrent deliveries of their account, and a quick endpoint gets the other eight', async () => {
  const quick = await startReceiverForTest();
  const hanging = await startReceiverForTest(hang);
  const { world, ideas } = await createAccount();
  const { id } = await addWebhook(db, world, { url: quick.url });
  await startPatientWorker({ WORKER_CONCURRENCY: '12' });
  await record(ideas.slice(0, 1));
  await delivered(id);
  for (let n = 0; n < 20; n++) await addWebhook(db, world, { url: `${hanging.url}/${n}` });

  const release = hold(quick);
  await record(ideas);
  await hanging.waitForRequests(4);
  await quick.waitForRequests(1 + lanes);
  expect(quick.maxConcurrent()).toBe(lanes);
  release();
  await record(ideas);
  await delivered(id);
  expect(hanging.received).toHaveLength(4);
  expect(new Set(hanging.received.map(one => one.path)).size).toBe(4);
  expect(quick.received).toHaveLength(1 + 2 * lanes);
});

test('a worker sends a mail even while hanging receivers use up all concurrent webhook deliveries and most of the concurrent chat posts', async () => {
  const smtp = await startSmtpReceiver();
  onTestFinished(() => smtp.close());
  const hanging = await startReceiverForTest();
  const waiting = await startReceiverForTest();
  const release = hold(hanging);
  const accounts = [await createAccount(), await createAccount()];
  const channels = 4;
  for (const { world } of accounts) {
    await addWebhook(db, world, { url: hanging.url });
    for (let n = 0; n < channels; n++) await addChannel(world, `${hanging.url}/hooks/${n}`);
  }
  const last = await createAccount();
  const webhook = await addWebhook(db, last.world, { url: waiting.url });
  // With WORKER_CONCURRENCY 1, only one webhook delivery of each of the two accounts can run at a time.
  await startPatientWorker({ WORKER_CONCURRENCY: '1', SMTP_URL: smtp.url });
  for (const { ideas } of accounts) await record(ideas.slice(0, 1));
  await hanging.waitForRequests(2 + 2 * channels);
  await record(last.ideas.slice(0, 1));
  await db.sql(`select graphile_worker.add_job('mail_password_link', json_build_object('user_id', $1::bigint))`, [
    last.world.ownerId,
  ]);
  await eventually(() => expect(smtp.received).toHaveLength(1));
  // The hanging deliveries of the first two accounts use up all slots. So no webhook delivery of the third account has
  // started.
  expect(hanging.received).toHaveLength(2 + 2 * channels);
  expect(waiting.received).toEqual([]);
  release();
  await delivered(webhook.id);
});

test('hanging chat channels of one account get at most half of all concurrent chat posts, so another account gets its posts', async () => {
  const hanging = await startReceiverForTest(hang);
  const well = await startReceiverForTest();
  const { world, ideas } = await createAccount();
  for (let n = 0; n < 12; n++) await addChannel(world, `${hanging.url}/hooks/${n}`);
  await startPatientWorker();
  await record(ideas);
  await hanging.waitForRequests(4);
  const stranger = await createAccount();
  await addChannel(stranger.world, `${well.url}/hooks/1`);
  await record(stranger.ideas);
  await well.waitForRequests(lanes);
  expect(hanging.maxConcurrent()).toBe(4);
  const [queues] = await db.sql<{ count: number }>(
    `select count(distinct queue_name)::int as count from graphile_worker._private_job_queues
    where queue_name like format('chats:%s:%%', $1::bigint)`,
    [world.accountId],
  );
  expect(queues?.count).toBe(4);
});

test('a slow chat channel gets one post at a time and does not delay the other channels of its account', async () => {
  const slow = await startReceiverForTest(response => {
    setTimeout(() => response.writeHead(200).end(), quickMs + 100);
  });
  const well = await startReceiverForTest();
  const { world, ideas } = await createAccount();
  await addChannel(world, `${slow.url}/hooks/1`);
  // The server has four job queues for the chat channels of an account. So of the five channels, at least two share a
  // queue.
  for (let n = 0; n < 4; n++) await addChannel(world, `${well.url}/hooks/${n}`);
  await startPatientWorker({}, quickMs);
  await record(ideas.slice(0, 1));
  await well.waitForRequests(4);
  await slow.waitForRequests(1);
  const release = hold(slow);
  await record(ideas);
  await well.waitForRequests(4 + 4 * lanes);
  expect(slow.maxConcurrent()).toBe(1);
  await slow.waitForRequests(2);
  release();
  await slow.waitForRequests(1 + lanes);
  expect(slow.maxConcurrent()).toBe(1);
});

/** Creates a chat channel with the URL of a test receiver. */
async function addChannel({ accountId, boardId }: World, url: string): Promise<number> {
  const [row] = await db.sql<{ id: number }>(
    `insert into chat_channels (account_id, board_id, kind, url) values ($1, $2, 'mattermost', $3) returning id`,
    [accountId, boardId, testSecretBox.seal(url, chatUrlPurpose)],
  );
  return row?.id ?? 0;
}
