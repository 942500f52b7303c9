import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { sendTestEvent } from '../../server/domain/webhooks/queue-deliveries.ts';
import { loadChildServer } from '../helpers/child-servers.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createWorld, insertIdea } from '../helpers/fixtures.ts';
import { hang, startReceiverForTest } from '../helpers/receiver.ts';
import { addWebhook, administer, deliveriesOf, eventually } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';

const db = await createDatabaseForFile();

/** Records a status change event for an idea. A request to change the status runs the same SQL function. */
const record = (ideaId: number) =>
  db.sql(
    `select record_event(i.account_id, 'idea.status_changed', i.id, null, null, null, '{}', now())
    from ideas i where i.id = $1`,
    [ideaId],
  );

test('two workers share the deliveries of a webhook endpoint and send each delivery once', async () => {
  // A worker sends only one delivery at a time to an endpoint that has not answered yet. So if a second delivery
  // arrives at the same time, the other worker has sent it.
  const held: (() => void)[] = [];
  const receiver = await startReceiverForTest(response => {
    held.push(() => response.writeHead(204).end());
    if (receiver.maxConcurrent() > 1) for (const answer of held.splice(0)) answer();
  });
  const world = await createWorld(db);
  const { id } = await addWebhook(db, world, { url: receiver.url });
  const ideas = await Promise.all(Array.from({ length: 16 }, () => insertIdea(db, world)));
  const workers = [await startWorkerForTest(db, { environment: { WORKER_CONCURRENCY: '4' } })];
  workers.push(await startWorkerForTest(db, { environment: { WORKER_CONCURRENCY: '4' } }));
  for (let round = 0; round < 8; round++) await Promise.all(ideas.map(record));
  await receiver.waitForRequests(128);
  await eventually(async () => {
    expect(new Set((await deliveriesOf(db, id)).map(one => one.state))).toEqual(new Set(['delivered']));
  });
  expect(receiver.received).toHaveLength(128);
});

test('another worker takes over the jobs of a killed worker within seconds', async () => {
  const receiver = await startReceiverForTest(hang);
  const world = await createWorld(db);
  const { id } = await addWebhook(db, world, { url: receiver.url });
  const child = loadChildServer(db.url, { WITHOUT_HTTP: '1' });
  await child.begin();
  await administer(db, admin => sendTestEvent(admin, world.accountId, id));
  await receiver.waitForRequests(1);
  receiver.respondWith(204);
  await startWorkerForTest(db, { timing: { recoveryIntervalMs: 100 } });
  await delay(300);
  // While the first worker is alive, the other worker must not take the job.
  expect(receiver.received).toHaveLength(1);
  await child.kill();
  // If no worker took over the job, graphile-worker would release the job of the killed worker only after four hours.
  await receiver.waitForRequests(2);
  expect(new Set(receiver.received.map(one => one.headers['webhook-id'])).size).toBe(1);
});

test('a worker that stops finishes its current webhook delivery and leaves the other deliveries to other workers', async () => {
  let answer = () => {};
  const receiver = await startReceiverForTest(response => {
    answer = () => response.writeHead(204).end();
  });
  const world = await createWorld(db);
  const { id } = await addWebhook(db, world, { url: receiver.url });
  for (let event = 0; event < 3; event++) await administer(db, admin => sendTestEvent(admin, world.accountId, id));
  const worker = await startWorkerForTest(db);
  await receiver.waitForRequests(1);
  const stopped = worker.stop();
  answer();
  await stopped;
  expect((await deliveriesOf(db, id)).map(one => one.state)).toEqual(['delivered', 'pending', 'pending']);
  expect(receiver.received).toHaveLength(1);
  expect(await db.sql(`select locked_by from graphile_worker.jobs where locked_by is not null`)).toEqual([]);
  receiver.respondWith(204);
  await startWorkerForTest(db);
  await receiver.waitForRequests(3);
});

test('a worker that stops does not wait for a hanging webhook endpoint, and the aborted attempt does not count as failed', async () => {
  const receiver = await startReceiverForTest(hang);
  const world = await createWorld(db);
  const { id } = await addWebhook(db, world, { url: receiver.url });
  const worker = await startWorkerForTest(db, { timing: { stopPatienceMs: 300 } });
  await administer(db, admin => sendTestEvent(admin, world.accountId, id));
  await receiver.waitForRequests(1);
  await worker.stop();
  // The aborted attempt did not count as failed. If the worker had waited for the attempt, the attempt would have timed
  // out and counted as failed.
  expect(await deliveriesOf(db, id)).toMatchObject([{ state: 'pending', attempt_count: 0 }]);
});

test('a worker still sends webhook deliveries after PostgreSQL has ended all connections of the worker', async () => {
  const receiver = await startReceiverForTest();
  const world = await createWorld(db);
  const { id } = await addWebhook(db, world, { url: receiver.url });
  await startWorkerForTest(db, { timing: { restartDelayMs: 100 } });
  await db.sql(`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and application_name like 'idea-board worker%'`);
  await administer(db, admin => sendTestEvent(admin, world.accountId, id));
  await receiver.waitForRequests(1);
});

test('an overdue webhook delivery whose job was lost gets a new job', async () => {
  const receiver = await startReceiverForTest();
  const world = await createWorld(db);
  const { id } = await addWebhook(db, world, { url: receiver.url });
  await administer(db, admin => sendTestEvent(admin, world.accountId, id));
  await db.sql(`delete from graphile_worker._private_jobs`);
  await db.sql(`update webhook_deliveries set next_attempt_at = now() - interval '11 minutes' where endpoint_id = $1`, [
    id,
  ]);
  await startWorkerForTest(db);
  await db.sql(`select graphile_worker.add_job('wake_overdue_webhooks')`);
  await receiver.waitForRequests(1);
});

test('events are deleted after thirty days, but an event with a pending webhook delivery is kept', async () => {
  const world = await createWorld(db);
  const { id } = await addWebhook(db, world, { url: 'https://hooks.example.com' });
  const ideaId = await insertIdea(db, world);
  for (const [days, state] of [
    [31, 'delivered'],
    [31, 'dead'],
    [31, 'pending'],
    [29, 'delivered'],
  ] as const) {
    await record(ideaId);
    await db.sql(
      `update webhook_deliveries set state = $2, next_attempt_at = now() + interval '1 day' where id = (select max(id) from webhook_deliveries where endpoint_id = $1)`,
      [id, state],
    );
    await db.sql(
      `update events set occurred_at = now() - $1 * interval '1 day' where id = (select event_id from webhook_deliveries order by id desc limit 1)`,
      [days],
    );
  }
  await db.sql(`delete from graphile_worker._private_jobs`);
  await startWorkerForTest(db);
  await db.sql(`select graphile_worker.add_job('clear_old_events')`);
  await eventually(async () => {
    expect((await deliveriesOf(db, id)).map(one => one.state)).toEqual(['pending', 'delivered']);
  });
});
