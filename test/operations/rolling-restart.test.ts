import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startBalancer } from '../helpers/balancer.ts';
import { createTestDatabase } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { testAppKey } from '../helpers/server.ts';
import { startProcess } from '../helpers/server-process.ts';
import { addWebhook, eventually, verify } from '../helpers/webhooks.ts';

const clients = 4;
/**
 * The pause of a client between two turns. It is longer while servers start, because a starting server needs the CPU.
 */
const pauseMs = { whileStarting: 250, whileStopping: 25 };

test('during a rolling restart of two servers under load, each request is answered, and no write is lost or repeated', async () => {
  const db = await createTestDatabase();
  const balancer = await startBalancer();
  onTestFinished(async () => {
    await balancer.close();
    await db.drop();
  });
  const receiver = await startReceiverForTest();
  const world = await createWorld(db);
  const { secret } = await addWebhook(db, world, { url: receiver.url, eventTypes: ['idea.created'] });
  const ideaId = await insertIdea(db, world);
  const environment = {
    DATABASE_URL: db.url,
    APP_KEY: testAppKey.toString('base64'),
    LOG_LEVEL: 'warn',
    // On a busy machine, the balancer may notice late that a server stops. So a stopping server accepts requests for a
    // longer time.
    SHUTDOWN_DELAY_MS: '2000',
    RATE_LIMIT_READ: '1000000',
    RATE_LIMIT_WRITE: '1000000',
    RATE_LIMIT_IP: '1000000',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    DATABASE_POOL_SIZE: '4',
  };
  const start = async () => {
    const server = await startProcess('start', environment);
    onTestFinished(() => server.kill());
    balancer.add(server.baseUrl);
    return server;
  };
  const first = await Promise.all([start(), start()]);
  await balancer.waitForReady(2);

  let isOver = false;
  let isStarting = true;
  const asked: string[] = [];
  const titles: string[] = [];
  const load = Promise.all(Array.from({ length: clients }, (_, client) => send(client)));

  /**
   * In each turn, sends a read, a write and a vote, and waits for each response before the next request. Never repeats
   * a request.
   */
  async function send(client: number) {
    const { token } = await issueToken(db, world, 'write');
    for (let turn = 0; !isOver; turn++) {
      const title = `Idea ${turn} of ${client}`;
      const isUp = turn % 2 === 0;
      const read = await request({ baseUrl: balancer.url }, `GET /api/v1/ideas/${ideaId}`, { token });
      const created = await request({ baseUrl: balancer.url }, 'POST /api/v1/ideas', {
        token,
        json: { title, body: 'Under load.' },
      });
      if (created.status === 201) titles.push(title);
      const voted = await request({ baseUrl: balancer.url }, `POST /api/v1/ideas/${ideaId}/vote`, {
        token,
        json: { value: isUp ? 'up' : 'none' },
      });
      asked.push(
        `GET ${read.status}`,
        `POST ${created.status}`,
        `vote ${voted.status} ${(voted.body?.my_vote === 'up') === isUp}`,
      );
      await delay(isStarting ? pauseMs.whileStarting : pauseMs.whileStopping);
    }
  }

  // A third server starts before the first server stops. After the second server stops, the third server runs alone.
  await start();
  await balancer.waitForReady(3);
  isStarting = false;
  for (const server of first) {
    await waitForLoad(asked);
    server.signal('SIGTERM');
    expect(await server.ended).toBe(0);
    balancer.remove(server.baseUrl);
  }
  await waitForLoad(asked);
  isOver = true;
  await load;

  expect(balancer.failures).toEqual([]);
  expect([...new Set(asked)].sort()).toEqual(['GET 200', 'POST 201', 'vote 200 true']);
  const kept = await db.sql<{ title: string }>(`select title from ideas where body = 'Under load.' order by title`);
  expect(kept.map(({ title }) => title)).toEqual(titles.sort());
  const [tally] = await db.sql(
    `select i.up_count, (select count(*)::int from votes v where v.idea_id = i.id and v.value = 1) as votes
    from ideas i where i.id = $1`,
    [ideaId],
  );
  expect(tally?.up_count).toBe(tally?.votes);
  await eventually(() => {
    const titlesOfEvents = new Set(receiver.received.map(one => verify(one, secret).data.idea.title));
    expect(titlesOfEvents.size).toBe(titles.length);
  }, 20_000);
});

/** Resolves when the clients have received about 20 more responses each. */
async function waitForLoad(asked: string[]) {
  const wanted = asked.length + 20 * clients;
  while (asked.length < wanted) await delay(5);
}
