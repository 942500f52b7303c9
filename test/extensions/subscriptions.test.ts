import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { EventType } from '../../contract/events.ts';
import { queryOfText } from '../../server/database/query.ts';
import type { Extension, ExtensionEvent, JobContext } from '../../server/extensions/extension.ts';
import { buildExtensionTasks } from '../../server/extensions/extension-tasks.ts';
import { renewSubscriptions } from '../../server/extensions/subscriptions.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { makeJobsDue, runJobs, waitingJobs } from '../helpers/jobs.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { eventually } from '../helpers/webhooks.ts';
import { startWorkerForTest } from '../helpers/worker.ts';
import { extensionOf } from './with-extensions.ts';

type Context = JobContext<Record<string, unknown>>;

/** The events that the test extension has received. The extension calls `react` for each event. */
const received: ExtensionEvent[] = [];
let react: (event: ExtensionEvent, context: Context) => Promise<unknown> = async () => {};

const receive = async (event: ExtensionEvent, context: Context) => {
  received.push(event);
  await react(event, context);
};
const everything = Object.fromEntries(
  (['idea.created', 'idea.status_changed', 'idea.voted', 'comment.created'] as EventType[]).map(type => [
    type,
    receive,
  ]),
) as NonNullable<Extension['on']>;

const listener = extensionOf({
  name: 'listener',
  on: everything,
  tasks: { note: async (payload, { query }) => query('select $1::json', [JSON.stringify(payload)]) },
});

const server = await startServerForFile({ dependencies: { extensions: [listener] } });
const world = await createWorld(server);
const token = (await issueToken(server, world, 'moderate')).token;
beforeEach(async () => {
  received.length = 0;
  react = async () => {};
  await server.sql('delete from extension_subscriptions');
  await server.sql('delete from graphile_worker._private_jobs');
  await renewSubscriptions(server.database, [listener]);
});

const act = (path: string, json: unknown) => request(server, `POST /api/v1/ideas${path}`, { token, json });
const tasksWaiting = async () => (await waitingJobs(server)).map(({ task }) => task);

describe('a subscribed extension', () => {
  test("an extension receives its subscribed events in the order in which they occurred, each with the stored data and the idea's URL", async () => {
    const { body: idea } = await act('', { title: 'Told', body: 'To an extension.' });
    await act(`/${idea.id}/comments`, { body: 'A comment.' });
    await act(`/${idea.id}/status`, { status: 'planned' });
    await act(`/${idea.id}/vote`, { value: 'up' });
    expect(received).toEqual([]);
    expect(await runJobs(server)).toEqual([]);
    expect(received.map(({ type }) => type)).toEqual([
      'idea.created',
      'comment.created',
      'idea.status_changed',
      'idea.voted',
    ]);
    const events = await server.sql<{ id: string; body: { data: { idea: object } } }>(
      'select id, body from events order by occurred_at, id',
    );
    expect(received.map(({ id }) => id).sort()).toEqual(events.map(({ id }) => `evt_${id}`).sort());
    const url = `${server.config.BASE_URL}/b/${world.boardSlug}/ideas/${idea.id}`;
    for (const { id, ...body } of received) {
      // The stored body has no field `url`, because the server adds this field when it delivers the event.
      const stored = events.find(event => `evt_${event.id}` === id)?.body;
      expect(body).toEqual({ ...stored, data: { ...stored?.data, idea: { ...stored?.data.idea, url } } });
    }
    expect(received[3]?.data).toMatchObject({ idea: { up_count: 1 }, vote: { value: 'up', previous: 'none' } });
  });

  test('a subscribed extension receives no event of a transaction that was rolled back', async () => {
    const ideaId = await insertIdea(server, world);
    const failing = server.database.transaction(async ({ query }) => {
      const text = `select record_event(${world.accountId}, 'idea.created', ${ideaId}, null, null, null, '{}', now())`;
      await query(queryOfText(text, 0), []);
      throw new Error('changed its mind');
    });
    await expect(failing).rejects.toThrow('changed its mind');
    expect(await waitingJobs(server)).toEqual([]);
  });

  test('if an extension fails to handle an event, the server sends the event again to this extension without delaying other extensions', async () => {
    const other: string[] = [];
    const second = extensionOf({ name: 'second', on: { 'idea.created': async ({ type }) => other.push(type) } });
    await renewSubscriptions(server.database, [second]);
    server.dependencies.extensions = [listener, second];
    onTestFinished(() => {
      server.dependencies.extensions = [listener];
    });
    const both = buildExtensionTasks({ ...server.dependencies, stopping: new AbortController().signal });
    expect(Object.keys(both)).toContain('extension_event:second');

    react = async () => {
      throw new Error('the other side is away');
    };
    await startWorkerForTest(server, { extensions: [listener, second], environment: { LOG_LEVEL: 'fatal' } });
    await act('', { title: 'Told twice', body: 'Once in vain.' });
    await eventually(() => expect([received.length, other.length]).toEqual([1, 1]));
    react = async () => {};
    await eventually(async () => {
      await makeJobsDue(server);
      expect(received).toHaveLength(2);
    });
    expect(received[1]).toEqual(received[0]);
    expect(other).toEqual(['idea.created']);
  });

  test("an extension can change ideas only as the board's rules allow, and its changes are rolled back if their transaction fails", async () => {
    const [{ slug, email } = { slug: '', email: '' }] = await server.sql<{ slug: string; email: string }>(
      'select a.slug, u.email from accounts a, users u where a.id = $1 and u.id = $2',
      [world.accountId, world.ownerId],
    );
    const by = { account: slug, board: world.boardSlug, user: email.toUpperCase() };
    const results: unknown[] = [];
    react = async ({ data: { idea } }, context) => {
      results.push(await context.castVote(by, idea.id, 'up'), await context.castVote(by, idea.id, 'up'));
      results.push((await context.setIdeaStatus(by, idea.id, 'done')).status_key);
      results.push((await context.commentOnIdea(by, idea.id, ' Done. ')).body);
      results.push((await context.readIdea(by, idea.id))?.my_vote);
      results.push(await context.commentOnIdea(by, idea.id, 'Again.').catch(error => error.key));
      results.push(await context.createIdea(by, { title: '', body: 'x' }).catch(error => error.issues[0].path));
      results.push(await context.readIdea({ ...by, board: 'none' }, idea.id).catch(error => error.message));
      const undone = context.transaction(async transaction => {
        results.push((await transaction.createIdea(by, { title: 'On\r\none line', body: 'With its job.' })).title);
        await transaction.addJob('note', { n: 1 });
        throw new Error('undone');
      });
      results.push(await undone.catch(error => error.message));
      await context.addJob('note', { n: 2 }, { key: 'once', runAt: new Date('2100-01-01T00:00:00Z') });
      await context.addJob('note', { n: 3 }, { key: 'once', runAt: new Date('2100-01-01T00:00:00Z') });
    };
    await server.sql(`delete from extension_subscriptions where event_type <> 'idea.created'`);
    await act('', { title: 'Acted on', body: 'By an extension.' });
    expect(await runJobs(server)).toEqual([]);
    expect(results).toEqual([
      { score: 1, my_vote: 'up', up_count: 1, down_count: 0 },
      { score: 1, my_vote: 'up', up_count: 1, down_count: 0 },
      'done',
      'Done.',
      'up',
      'consecutive_comment',
      ['body', 'title'],
      `The account ${slug} has no board none, or no such member to act on it`,
      'On one line',
      'undone',
    ]);
    expect(await server.sql(`select from ideas where body = 'With its job.'`)).toEqual([]);
    expect((await waitingJobs(server)).map(({ task, payload }) => [task, payload])).toEqual([
      ['ext:listener:note', { n: 3 }],
    ]);
  });
});

describe('members without permission', () => {
  const acting = async (role: string, isBlocked: boolean) => {
    const [user] = await server.sql<{ id: number; email: string }>(
      `insert into users (email, name) values ($1, 'Somebody') returning id, email`,
      [`${role}-${isBlocked}@example.com`],
    );
    await server.sql('insert into memberships (account_id, user_id, role) values ($1, $2, $3)', [
      world.accountId,
      user?.id,
      role,
    ]);
    if (isBlocked) {
      await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, user?.id]);
    }
    const [account] = await server.sql<{ slug: string }>('select slug from accounts where id = $1', [world.accountId]);
    return { account: account?.slug ?? '', board: world.boardSlug, user: user?.email ?? '' };
  };

  test.each([
    ['is not a moderator', 'member', false, 'insufficient_scope'],
    ['is blocked', 'moderator', true, 'user_blocked'],
  ])('an extension cannot change an idea on behalf of a member who %s', async (_, role, isBlocked, key) => {
    const by = await acting(role, isBlocked);
    const ideaId = await insertIdea(server, world);
    let refusal: unknown;
    react = async (_event, context) => {
      refusal = await context.setIdeaStatus(by, ideaId, 'done').catch(error => error.key);
    };
    await act('', { title: 'A reason to act', body: 'For the extension.' });
    await runJobs(server);
    expect(refusal).toBe(key);
  });
});

describe('data of extensions that are no longer loaded', () => {
  test('a vote stores no event if neither an extension nor a webhook subscribes to votes', async () => {
    await server.sql('delete from extension_subscriptions');
    const ideaId = await insertIdea(server, world);
    await server.sql('delete from events');
    await act(`/${ideaId}/vote`, { value: 'up' });
    expect(await server.sql('select from events')).toEqual([]);
    await act(`/${ideaId}/status`, { status: 'planned' });
    expect(await tasksWaiting()).toEqual(['tell_people']);
  });

  test('jobs of a removed extension do not block other jobs, and the server deletes them a week after their scheduled time', async () => {
    await server.sql(`select graphile_worker.add_job('extension_event:gone', '{"event_id": "x"}')`);
    await server.sql(`select graphile_worker.add_job('ext:gone:later', run_at => now() + interval '30 days')`);
    await server.sql(`select graphile_worker.add_job('ext:gone:task')`);
    await startWorkerForTest(server, { extensions: [], environment: { LOG_LEVEL: 'warn' } });
    const clear = async () => {
      await server.sql(`select graphile_worker.add_job('clear_left_extensions')`);
      await eventually(async () => expect(await tasksWaiting()).not.toContain('clear_left_extensions'));
    };
    // Leaves out the jobs of the worker itself, such as the heartbeat.
    const left = async () => (await tasksWaiting()).filter(task => task.includes('gone')).sort();
    await clear();
    expect(await left()).toEqual(['ext:gone:later', 'ext:gone:task', 'extension_event:gone']);
    await server.sql(`update graphile_worker._private_jobs set run_at = run_at - interval '8 days'`);
    await clear();
    expect(await left()).toEqual(['ext:gone:later']);
  });

  test('a worker job for each loaded extension renews its event subscriptions, and another worker job deletes subscriptions that were not renewed for a day', async () => {
    await server.sql(`update extension_subscriptions set renewed_at = now() - interval '23 hours'`);
    await server.sql(
      `insert into extension_subscriptions values ('idea.created', 'gone', now() - interval '25 hours')`,
    );
    await server.sql(`select graphile_worker.add_job('clear_left_extensions')`);
    await runJobs(server);
    expect(await server.sql('select distinct extension from extension_subscriptions')).toEqual([
      { extension: 'listener' },
    ]);
    await server.sql(`select graphile_worker.add_job('renew_subscriptions:listener')`);
    await runJobs(server);
    expect(
      await server.sql(`select from extension_subscriptions where renewed_at < now() - interval '1 minute'`),
    ).toEqual([]);
  });
});

test('if a job of an extension runs too long, the job fails with a timeout and its abort signal is set', async () => {
  let signal: AbortSignal | undefined;
  const hanging = extensionOf({
    name: 'hanging',
    tasks: {
      wait: (_payload, context) => {
        signal = context.signal;
        return new Promise(() => {});
      },
    },
  });
  const stopping = new AbortController().signal;
  const tasks = buildExtensionTasks({ ...server.dependencies, extensions: [hanging], stopping }, 50);
  const run = tasks['ext:hanging:wait'] as (payload: unknown) => Promise<void>;
  await expect(run({})).rejects.toThrow('ext:hanging:wait has not ended after 0.05 s');
  await eventually(() => expect(signal?.aborted).toBe(true));
});

test('if a worker stops while a job of an extension ignores the abort signal, another worker runs this job again', async () => {
  let starts = 0;
  const wait = () => {
    starts++;
    return new Promise(() => {});
  };
  const extensions = [extensionOf({ name: 'deaf', tasks: { wait } })];
  const timing = { stopPatienceMs: 100, settlingMs: 100, recoveryIntervalMs: 100 };
  const worker = await startWorkerForTest(server, { extensions, timing });
  await server.sql(`select graphile_worker.add_job('ext:deaf:wait')`);
  await eventually(() => expect(starts).toBe(1));
  await worker.stop();
  await startWorkerForTest(server, { extensions, timing });
  await eventually(() => expect(starts).toBe(2));
});
