import { cp, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { Caller } from '../../client/caller.ts';
import { IdeaBoard, isIdeaBoardError } from '../../client/main.ts';
import { type Database, openDatabase } from '../../server/database/database.ts';
import { migrate } from '../../server/database/migrator.ts';
import { startBalancer } from '../helpers/balancer.ts';
import { loadChildServer } from '../helpers/child-servers.ts';
import { sqlOn } from '../helpers/database.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { type OwnPostgres, startOwnPostgres } from '../helpers/own-postgres.ts';
import { request } from '../helpers/request.ts';
import { startServer } from '../helpers/server.ts';

/**
 * Follows the events of a board, and sometimes simulates a crash. Counts how often each event arrived, and how often a
 * crash prevented the program from saving the cursor of an event.
 */
async function follow(client: IdeaBoard, isOver: (seen: ReadonlyMap<string, number>) => boolean) {
  const seen = new Map<string, number>();
  const unsaved = new Map<string, number>();
  let saved: string | undefined;
  for (let handled = 1; ; ) {
    const onCursor = (cursor: string) => {
      saved = cursor;
    };
    for await (const { id } of client.events.follow({ after: saved, onCursor })) {
      seen.set(id, (seen.get(id) ?? 0) + 1);
      if (isOver(seen)) return { seen, unsaved };
      handled += 1;
      if (handled % 7 !== 0) continue;
      // The simulated crash happens before the program saves the cursor of this event, so the event must arrive again.
      unsaved.set(id, (unsaved.get(id) ?? 0) + 1);
      break;
    }
  }
}

function openOn({ url }: OwnPostgres): Promise<Database> {
  const logger = { warn() {} } as never;
  return openDatabase({ url, poolSize: 4, connectTimeoutMs: 5_000, statementTimeoutMs: 10_000, logger });
}

test("if two clients continuously read a board's events, each gets every committed event once, even if a server and PostgreSQL are killed meanwhile", async () => {
  const postgres = await startOwnPostgres();
  onTestFinished(() => postgres.close());
  await migrate(postgres.url);
  const open = () => openOn(postgres);
  const first = await open();
  const sql = sqlOn(first);
  const world = await createWorld({ sql });
  const tokens = await Promise.all(
    Array.from({ length: 6 }, async () => (await issueToken({ sql }, world, 'moderate')).token),
  );
  await first.close();
  const balancer = await startBalancer();
  onTestFinished(() => balancer.close());
  const children = [1, 2, 3].map(() => loadChildServer(postgres.url));
  onTestFinished(async () => void (await Promise.all(children.map(child => child.kill()))));
  const [killed, staying, replacing] = children;
  const start = async (child = staying) => balancer.add((await child?.begin()) ?? '');
  await Promise.all([start(killed), start(staying), replacing?.isLoaded]);
  await balancer.waitForReady(2);

  // These clients wait for a shorter time before a retry than a real program, so that the test is fast.
  const clientOf = (token = '') => {
    const options = { baseUrl: balancer.url, token, maxRetries: 1_000, maxRetryDelayMs: 1_000 };
    const sleep = (milliseconds: number) => delay(Math.min(milliseconds, 50)).then(() => {});
    const now = () => performance.now();
    return new IdeaBoard(options, new Caller(options, { now, random: Math.random, sleep }));
  };
  let isWriting = true;
  let created = 0;
  let expected: number | undefined;
  const writers = tokens.slice(2).map(async token => {
    const client = clientOf(token);
    for (let n = 0; isWriting; n++) {
      // Ignores the error of a request whose retries have all failed, because PostgreSQL may be down for too long.
      await client.ideas.create({ title: `Idea ${n}`, body: 'Create me once.' }).then(
        () => (created += 1),
        (error: unknown) => {
          if (!isIdeaBoardError(error) || error.key === 'validation_failed') throw error;
        },
      );
    }
  });
  const followers = tokens.slice(0, 2).map(token => follow(clientOf(token), seen => seen.size === expected));

  const createTenMore = () => {
    const enough = created + 10;
    return vi.waitUntil(() => created >= enough, { timeout: 30_000 });
  };
  await createTenMore();
  await killed?.kill();
  await start(replacing);
  await createTenMore();
  await postgres.stop('kill');
  await postgres.start();
  await balancer.waitForReady(2);
  await createTenMore();
  isWriting = false;
  await Promise.all(writers);
  const last = await open();
  onTestFinished(() => last.close());
  const committed = async () =>
    (await last.pool.query<{ id: string }>(`select id from events where type = 'idea.created'`)).rows;
  // Followers that have received all events still wait for more. One more event makes them end.
  expected = (await committed()).length + 1;
  await clientOf(tokens[2]).ideas.create({ title: 'The last idea', body: 'Then it is over.' });

  const ids = (await committed()).map(({ id }) => `evt_${id}`).sort();
  // PostgreSQL may have committed ideas of failed requests too.
  expect(ids.length).toBeGreaterThan(created);
  for (const { seen, unsaved } of await Promise.all(followers)) {
    expect([...seen.keys()].sort()).toEqual(ids);
    const repeated = [...seen].filter(([id, count]) => count !== 1 + (unsaved.get(id) ?? 0));
    expect(repeated).toEqual([]);
  }
});

test('after the files of PostgreSQL are replaced by an older copy, the cursor of a lost event gets cursor_expired, and the cursor of an event in the copy leads to all new events', async () => {
  const postgres = await startOwnPostgres();
  onTestFinished(() => postgres.close());
  await migrate(postgres.url);
  const files = join(dirname(postgres.logFile), 'postgres');
  const copy = `${files}-copy`;
  /** Runs work with a server, and then stops PostgreSQL. */
  const run = async <T>(work: (on: Awaited<ReturnType<typeof startServer>>) => Promise<T>): Promise<T> => {
    const database = await openOn(postgres);
    const server = await startServer({ on: { ...postgres, database, sql: sqlOn(database), drop: async () => {} } });
    const result = await work(server);
    await server.close();
    await database.close();
    await postgres.stop();
    return result;
  };
  let token = '';
  type Server = Parameters<Parameters<typeof run>[0]>[0];
  const create = (server: Server, title: string) =>
    request(server, 'POST /api/v1/ideas', { token, json: { title, body: 'Keep me.' } });
  const list = (server: Server, after: string) => request(server, `GET /api/v1/events?after=${after}`, { token });

  const kept = await run(async server => {
    ({ token } = await issueToken(server, await createWorld(server), 'moderate'));
    await create(server, 'in the copy');
    return (await list(server, 'now')).body.next_cursor;
  });
  await cp(files, copy, { recursive: true, preserveTimestamps: true });
  await postgres.start();
  const lost = await run(async server => {
    expect((await list(server, kept)).body).toMatchObject({ data: [], next_cursor: expect.any(String) });
    await create(server, 'lost');
    return (await list(server, kept)).body.next_cursor;
  });
  await rm(files, { recursive: true });
  await rename(copy, files);
  await postgres.start();
  await run(async server => {
    expect((await list(server, lost)).key).toBe('cursor_expired');
    await create(server, 'new');
    await create(server, 'newer');
    expect((await list(server, lost)).key).toBe('cursor_expired');
    const { body } = await list(server, kept);
    const titles = body.data.map((one: { event: { data: { idea: { title: string } } } }) => one.event.data.idea.title);
    expect(titles).toEqual(['new', 'newer']);
  });
});
