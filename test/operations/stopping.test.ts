import { once } from 'node:events';
import { connect as connectSocket, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createDatabaseForFile } from '../helpers/database.ts';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { type Answer, request } from '../helpers/request.ts';
import { testAppKey } from '../helpers/server.ts';
import { type ServerProcess, startProcess } from '../helpers/server-process.ts';

const db = await createDatabaseForFile();
const world = await createWorld(db);
const ideaId = await insertIdea(db, world);
const { token } = await issueToken(db, world, 'write');

async function start(environment: Record<string, string> = {}, nodeOptions: string[] = []): Promise<ServerProcess> {
  const server = await startProcess(
    'start',
    {
      DATABASE_URL: db.url,
      APP_KEY: testAppKey.toString('base64'),
      DATABASE_STATEMENT_TIMEOUT_MS: '60000',
      SHUTDOWN_DELAY_MS: '0',
      ...environment,
    },
    nodeOptions,
  );
  onTestFinished(() => server.kill());
  return server;
}

const log = (server: ServerProcess) =>
  server
    .output()
    .split('\n')
    .filter(line => line.startsWith('{'))
    .map(line => JSON.parse(line));

/**
 * Sends a vote that waits until the test calls release(). The vote waits in a trigger and not for a lock, because a
 * request waits for a lock for only one second.
 */
async function hold(server: ServerProcess): Promise<{ answer: Promise<Answer>; release(): Promise<void> }> {
  await db.sql(`
    create table gate (is_open boolean);
    create function wait_at_gate() returns trigger language plpgsql as $$
    begin
      while not exists (select from gate) loop perform pg_sleep(0.02); end loop;
      return new;
    end $$;
    create trigger wait_at_gate before insert on votes for each row execute function wait_at_gate();`);
  const release = async () => void (await db.sql('insert into gate values (true)'));
  onTestFinished(async () => {
    await release();
    await db.sql('drop function wait_at_gate cascade; drop table gate;');
  });
  const answer = request(server, `POST /api/v1/ideas/${ideaId}/vote`, { token, json: { value: 'up' } });
  answer.catch(() => {});
  const waiting = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`;
  await expect.poll(async () => (await db.sql(waiting)).length, { timeout: 10_000 }).toBe(1);
  return { answer, release };
}

/** Opens a TCP connection to the server and sends only this text, for example the beginning of a request. */
async function open(server: ServerProcess, text = ''): Promise<Socket> {
  const socket = connectSocket(Number(new URL(server.baseUrl).port), '127.0.0.1');
  socket.on('error', () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, 'connect');
  if (text !== '') socket.write(text);
  return socket;
}

test('after SIGTERM a server immediately fails its readiness probe, still serves requests during the shutdown delay, and completes running requests', async () => {
  const delayMs = 2_500;
  const server = await start({ SHUTDOWN_DELAY_MS: String(delayMs) });
  await expect.poll(async () => (await request(server, 'GET /ready')).status, { timeout: 10_000 }).toBe(200);
  const { answer, release } = await hold(server);

  const signalledAt = performance.now();
  const since = new Date().toISOString();
  server.signal('SIGTERM');
  await expect.poll(async () => (await request(server, 'GET /ready')).status, { timeout: delayMs }).toBe(503);
  const ready = await request(server, 'GET /ready');
  expect(ready).toMatchObject({ status: 503, text: '{"ok":false}' });
  // Because of this header, the client opens a new connection for its next request. The new connection can lead to
  // another server.
  expect(ready.headers.get('connection')).toBe('close');
  expect((await request(server, 'GET /health')).status).toBe(200);
  const read = await request(server, `GET /api/v1/ideas/${ideaId}`, { token });
  expect(read).toMatchObject({ status: 200, body: { id: ideaId, up_count: 0 } });

  const isRefused = () =>
    request(server, 'GET /health').then(
      () => false,
      () => true,
    );
  await expect.poll(isRefused, { timeout: 20_000 }).toBe(true);
  expect(performance.now() - signalledAt).toBeGreaterThan(delayMs);
  await release();
  expect(await answer).toMatchObject({ status: 200, body: { up_count: 1 } });
  expect(await server.ended).toBe(0);
  expect(await db.sql('select up_count from ideas where id = $1', [ideaId])).toEqual([{ up_count: 1 }]);
  // The readiness checks themselves succeeded, so the audit log has no entry about a failed check. The server's log
  // contains a message that the server is stopping.
  const recorded = log(server).filter(line => line.event === 'readiness.not_ready' && line.time > since);
  expect(recorded).toEqual([]);
  expect(log(server)).toContainEqual(expect.objectContaining({ msg: 'stopping', signal: 'SIGTERM' }));
});

test('a server that is stopped with Ctrl-C ignores the shutdown delay and does not wait for idle client connections', async () => {
  const server = await start({ SHUTDOWN_DELAY_MS: '600000', SHUTDOWN_TIMEOUT_MS: '600000' });
  await open(server);
  await open(server, 'GET /health HTTP/1.1\r\nHos');
  const idle = await open(server, 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n');
  await once(idle, 'data');
  server.signal('SIGINT');
  expect(await server.ended).toBe(0);
});

test('a server that is still stopping after SHUTDOWN_TIMEOUT_MS logs that stopping took too long, and exits with status 1', async () => {
  const server = await start({ SHUTDOWN_TIMEOUT_MS: '300' });
  await hold(server);
  server.signal('SIGTERM');
  expect(await server.ended).toBe(1);
  expect(log(server)).toContainEqual(expect.objectContaining({ level: 50, msg: 'stopping took too long' }));
});

test('a second stop signal ends a stopping server immediately, unless the signal arrives within milliseconds after the first signal', async () => {
  const server = await start({ SHUTDOWN_DELAY_MS: '600000', SHUTDOWN_TIMEOUT_MS: '600000' });
  server.signal('SIGTERM');
  await delay(20);
  server.signal('SIGTERM');
  await expect.poll(async () => (await request(server, 'GET /ready')).status, { timeout: 10_000 }).toBe(503);
  expect((await request(server, 'GET /health')).status).toBe(200);
  const again = setInterval(() => server.signal('SIGINT'), 250);
  onTestFinished(() => clearInterval(again));
  expect(await server.ended).toBe(1);
  expect(log(server).at(-1)).toMatchObject({ level: 50, signal: 'SIGINT' });
});

test.each([
  ['an exception', 'throw fault'],
  ['a rejection', 'Promise.reject(fault)'],
])(
  'a server exits with status 1 after %s that no code catches, and its log and its report to Sentry contain no secrets',
  async (_, throwing) => {
    const reports = await startReceiverForTest(200);
    const secret = `ib_7_${'s'.repeat(43)}`;
    const handler = `process.on('SIGUSR2', () => { const fault = new Error('Lost ${secret}'); ${throwing}; })`;
    const environment = { SENTRY_DSN: reports.url.replace('http://', 'http://key@').concat('/1') };
    const server = await start(environment, ['--import', `data:text/javascript,${encodeURIComponent(handler)}`]);
    server.signal('SIGUSR2');
    expect(await server.ended).toBe(1);
    expect(server.output()).not.toContain(secret);
    const [fatal, ...others] = log(server).filter(line => line.level === 60);
    expect(others).toEqual([]);
    expect(fatal.err.message).toBe('Lost ib_7_[Redacted]');
    expect(fatal.err.stack).toContain('data:text/javascript');
    expect(reports.received).toHaveLength(1);
    expect(reports.received[0]?.body).toContain('Lost ib_7_[Redacted]');
  },
);
