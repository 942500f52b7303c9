import { pino } from 'pino';
import { expect, test } from 'vitest';
import { wakeOverdueLanes } from '../../server/domain/webhooks/wake-lanes.ts';
import { sweepEvents } from '../../server/jobs/sweep-events.ts';
import { extensionOf, prepare } from '../extensions/with-extensions.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createMember, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest } from '../helpers/server.ts';
import { addWebhook, eventually } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';

const db = await createDatabaseForFile();

function sweep() {
  const logger = pino({ level: 'silent' });
  return sweepEvents({ database: db.database, queue: db.database, logger, stopping: new AbortController().signal });
}

const jobs = () =>
  db.sql<{ task: string; count: number }>(
    `select t.identifier as task, count(*)::int as count
    from graphile_worker._private_jobs j join graphile_worker._private_tasks t on t.id = j.task_id
    where t.identifier in ('deliver_webhooks', 'extension_event:listener', 'tell_people') group by 1 order by 1`,
  );

test('after the loss of all jobs, the scheduled sweeps deliver each event once to a webhook, a follower and an extension', async () => {
  const heard: string[] = [];
  const listener = extensionOf({ name: 'listener', on: { 'comment.created': async ({ id }) => heard.push(id) } });
  await prepare(db, [listener]);
  const world = await createWorld(db);
  const ideas = [await insertIdea(db, world), await insertIdea(db, world), await insertIdea(db, world)];
  const follower = await createMember(db, world.accountId, 'member');
  await db.sql('insert into followers (account_id, idea_id, user_id) select $1, unnest($2::bigint[]), $3', [
    world.accountId,
    ideas,
    follower,
  ]);
  const receiver = await startReceiverForTest();
  await addWebhook(db, world, { url: receiver.url });
  const { token } = await issueToken(db, world, 'write');
  const server = await startServerForTest({ on: db });
  for (const [index, body] of ['First.', 'Second.', 'Third.'].entries()) {
    const { status } = await request(server, `POST /api/v1/ideas/${ideas[index]}/comments`, { token, json: { body } });
    expect(status).toBe(201);
  }
  await request(server, `POST /api/v1/ideas/${ideas[0]}/vote`, { token, json: { value: 'up' } });
  const [{ id: kept }] = (await db.sql(`select id from events where data #>> '{comment,body}' = 'First.'`)) as [
    { id: string },
  ];
  // The event of the comment "First." keeps its jobs. The event of the comment "Third." is too young for the sweep.
  await db.sql(`delete from graphile_worker._private_jobs where payload ->> 'event_id' is distinct from $1`, [kept]);
  await db.sql(`update events set occurred_at = now() - interval '11 minutes'
    where data #>> '{comment,body}' is distinct from 'Third.'`);
  await db.sql(`update webhook_deliveries set next_attempt_at = now() - interval '11 minutes'`);

  await Promise.all([sweep(), sweep(), wakeOverdueLanes(db.database), wakeOverdueLanes(db.database)]);
  const afterSweep = [
    // The deliveries of the three ideas are in three lanes (delivery queues), and each lane has one job.
    { task: 'deliver_webhooks', count: 3 },
    { task: 'extension_event:listener', count: 2 },
    { task: 'tell_people', count: 2 },
  ];
  expect(await jobs()).toEqual(afterSweep);

  await startWorkerForTest(db, { extensions: [listener] });
  await receiver.waitForRequests(4);
  const notified = () => db.sql('select from notifications where user_id = $1', [follower]);
  await eventually(async () => {
    expect({ heard: heard.length, notified: (await notified()).length }).toEqual({ heard: 2, notified: 2 });
    expect(await jobs()).toEqual([]);
  });

  await db.sql(`update events set occurred_at = now() - interval '23 hours'`);
  await sweep();
  await eventually(async () => {
    expect({ heard: new Set(heard).size, notified: (await notified()).length }).toEqual({ heard: 3, notified: 3 });
    expect(await jobs()).toEqual([]);
  });
  await sweep();
  expect(await jobs()).toEqual([]);
  expect({ heard: heard.length, received: receiver.received.length }).toEqual({ heard: 3, received: 4 });
});

test('if the job of a vote, or only the job of an extension, is lost, the sweep gives the event to the extension, and a received event gets no job', async () => {
  const heard: string[] = [];
  const hear = async ({ type }: { type: string }) => heard.push(type);
  const voteListener = extensionOf({ name: 'vote-listener', on: { 'idea.voted': hear, 'comment.created': hear } });
  await db.sql('delete from extension_subscriptions');
  await prepare(db, [voteListener]);
  const world = await createWorld(db);
  const ideas = [await insertIdea(db, world), await insertIdea(db, world)];
  const { token } = await issueToken(db, world, 'write');
  const server = await startServerForTest({ on: db });
  const worker = await startWorkerForTest(db, { extensions: [voteListener] });
  const comment = (index: number) => {
    const json = { body: 'A comment.' };
    return request(server, `POST /api/v1/ideas/${ideas[index]}/comments`, { token, json });
  };
  const events = () =>
    db.sql('select type, waiting_extensions as waiting from events where account_id = $1 order by type', [
      world.accountId,
    ]);
  expect((await comment(0)).status).toBe(201);
  const received = { type: 'comment.created', waiting: [] };
  await eventually(async () => expect(await events()).toEqual([received]));
  await worker.stop();
  expect((await request(server, `POST /api/v1/ideas/${ideas[0]}/vote`, { token, json: { value: 'up' } })).status).toBe(
    200,
  );
  expect((await comment(1)).status).toBe(201);
  await db.sql('delete from graphile_worker._private_jobs');
  // The job tell_people of the second comment has run. Only the job of the extension is lost.
  await db.sql(
    `update events set occurred_at = now() - interval '11 minutes', told_at = case when type <> 'idea.voted' then now() end
    where account_id = $1`,
    [world.accountId],
  );

  await Promise.all([sweep(), sweep()]);
  await startWorkerForTest(db, { extensions: [voteListener] });
  await eventually(async () => {
    expect(await events()).toEqual([received, received, { type: 'idea.voted', waiting: [] }]);
    expect(await db.sql('select from graphile_worker._private_jobs')).toEqual([]);
  });
  expect(heard.toSorted()).toEqual(['comment.created', 'comment.created', 'idea.voted']);
  await sweep();
  expect(await db.sql('select from graphile_worker._private_jobs')).toEqual([]);
});
