import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { type ChildServer, loadChildServer } from '../helpers/child-servers.ts';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createMember, createWorld, issueToken } from '../helpers/fixtures.ts';
import { type Received, startReceiverForTest } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { addWebhook, eventually, verify } from '../helpers/webhooks.ts';

/**
 * The number of times that the test kills a server, and the seed of the random numbers. For a longer test, set
 * KILLS=500 KILL_SEED=7.
 */
const kills = Number(process.env.KILLS ?? 4);
const seed = Number(process.env.KILL_SEED ?? 1);
/**
 * The number of servers that answer requests. The number `spares` counts more servers, which only load their modules
 * and wait.
 */
const serving = 2;
const spares = 2;
const writers = 4;
const longestPauseMs = 80;
/**
 * The pause in milliseconds of a writer between two requests. The pause is longer while a server loads its modules,
 * because loading needs the CPU.
 */
const writeDelayMs = { beforeKill: 8, whileLoading: 250 };
/**
 * The longest delay of a webhook receiver's response, in milliseconds. Because of these delays, some kills interrupt a
 * delivery.
 */
const longestAnswerMs = 30;

const db = await createDatabaseForFile();

test(`after ${kills} server kills under load (random seed ${seed}), the webhook has received exactly all stored events, and repeated deliveries have identical bodies`, {
  timeout: 60_000 + kills * 10_000,
}, async () => {
  const random = randomFrom(seed);
  const receiver = await startReceiverForTest(response => {
    setTimeout(() => response.writeHead(204).end(), Math.random() * longestAnswerMs);
  });
  const world = await createWorld(db);
  const { id: endpointId, secret } = await addWebhook(db, world, { url: receiver.url });
  const issuers = [world.ownerId, await createMember(db, world.accountId, 'admin')];
  const tokens = await Promise.all(
    issuers.map(async issuerId => (await issueToken(db, world, 'moderate', { issuerId })).token),
  );

  let loads = 0;
  const load = () => {
    loads += 1;
    return loadChildServer(db.url, childEnvironment);
  };
  const children: ChildServer[] = Array.from({ length: spares }, load);
  const alive: { child: ChildServer; baseUrl: string }[] = [];
  let isOver = false;
  let isLoading = true;
  onTestFinished(async () => {
    isOver = true;
    await Promise.all([...children, ...alive.map(one => one.child)].map(child => child.kill()));
  });
  const writing = Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)));

  async function write(writer: number) {
    const own = randomFrom(seed * 1_000 + writer);
    const ideas: number[] = [];
    while (!isOver) {
      await delay(isLoading ? writeDelayMs.whileLoading : writeDelayMs.beforeKill);
      const { baseUrl } = alive[Math.floor(own() * alive.length)] ?? {};
      if (baseUrl === undefined) continue;
      const token = tokens[Math.floor(own() * 2)] as string;
      const ideaId = ideas[Math.floor(own() * ideas.length)];
      const dice = own();
      const send = (path: string, json: unknown) => request({ baseUrl }, `POST ${path}`, { token, json });
      try {
        if (ideaId === undefined || dice < 0.3) {
          const { body } = await send('/api/v1/ideas', { title: `By ${writer}`, body: 'Under load' });
          if (body?.id) ideas.push(body.id);
        } else if (dice < 0.6) {
          await send(`/api/v1/ideas/${ideaId}/comments`, { body: 'Under load' });
        } else if (dice < 0.8) {
          await send(`/api/v1/ideas/${ideaId}/vote`, { value: dice < 0.7 ? 'up' : 'none' });
        } else {
          await send(`/api/v1/ideas/${ideaId}/status`, { status: dice < 0.9 ? 'planned' : 'done' });
        }
      } catch {
        // The server was killed before it responded to the write. Only the database shows whether the write succeeded.
      }
    }
  }

  for (let kill = 0; kill < kills; ) {
    const child = children.shift() as ChildServer;
    alive.push({ child, baseUrl: await child.begin() });
    isLoading = false;
    if (loads < kills + serving) children.push(load());
    await delay(random() * longestPauseMs);
    if (alive.length < serving) continue;
    const [victim] = alive.splice(Math.floor(random() * alive.length), 1);
    await victim?.child.kill();
    isLoading = true;
    kill += 1;
  }
  isOver = true;
  await writing;
  await (children[0] as ChildServer).begin();

  // Reads the stored ideas and comments. Computes from them the events that the webhook must have received.
  const done = await db.sql<{ what: string }>(`
      select 'idea ' || id as what from ideas union all
      select 'comment ' || id from comments union all
      select 'status ' || i.id || ' ' || s.key from ideas i join statuses s on s.id = i.status_id where s.key <> 'open' union all
      select 'votes ' || id || ' ' || up_count from ideas where up_count > 0`);
  const [{ count } = { count: 0 }] = await db.sql<{ count: number }>('select count(*)::int as count from events');
  const distinct = () => new Set(receiver.received.map(one => one.headers['webhook-id'])).size;
  await eventually(() => expect(distinct()).toBe(count));
  await Promise.all([...children, ...alive.map(one => one.child)].map(child => child.kill()));

  const first = firstArrivals(receiver.received);
  const told = toldBy(first, secret);
  expect([...new Set(done.map(one => one.what))].filter(what => !told.has(what))).toEqual([]);
  const known = new Set(done.map(one => one.what));
  const invented = [...told].filter(what => /^(idea|comment) /.test(what) && !known.has(what));
  expect(invented).toEqual([]);
  // If the webhook receives an event again, the body must be the same as in the event's first delivery.
  for (const one of receiver.received) expect(one.body).toBe(first.get(one.headers['webhook-id'] ?? '')?.body);
  // The webhook must get the events of an idea in the order in which the server created their deliveries. Repeated
  // deliveries do not count.
  const order = await db.sql<{ idea_id: number; ids: string[] }>(
    `select e.idea_id, array_agg('evt_' || e.id order by d.id) as ids
      from webhook_deliveries d join events e on e.id = d.event_id where d.endpoint_id = $1 group by 1`,
    [endpointId],
  );
  const arrived = [...first.keys()].map((id, index) => [id, index] as const);
  const position = new Map(arrived);
  for (const { ids } of order) {
    expect(ids.toSorted((a, b) => (position.get(a) ?? 0) - (position.get(b) ?? 0))).toEqual(ids);
  }
  console.log(`${kills} kills: ${count} events, ${receiver.received.length - count} repeated`);
});

const childEnvironment = { WORKER_CONCURRENCY: '4' };

function firstArrivals(received: Received[]): Map<string, Received> {
  const first = new Map<string, Received>();
  for (const one of received) {
    const id = one.headers['webhook-id'] ?? '';
    if (!first.has(id)) first.set(id, one);
  }
  return first;
}

/** Returns the ideas, comments, statuses and numbers of votes that the received events report. */
function toldBy(first: Map<string, Received>, secret: string): Set<string> {
  const told = new Set<string>();
  for (const one of first.values()) {
    const { type, data } = verify(one, secret);
    if (type === 'idea.created') told.add(`idea ${data.idea.id}`);
    if (type === 'comment.created') told.add(`comment ${data.comment.id}`);
    if (type === 'idea.status_changed') told.add(`status ${data.idea.id} ${data.idea.status_key}`);
    if (type === 'idea.voted') told.add(`votes ${data.idea.id} ${data.idea.up_count}`);
  }
  return told;
}

/** Returns a random number generator (Mulberry32), which yields the same numbers for the same seed. */
function randomFrom(start: number): () => number {
  let state = start;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
