import { loadavg } from 'node:os';
import { setTimeout as delay } from 'node:timers/promises';
import { IdeaBoard, isIdeaBoardError } from '../../client/main.ts';
import { type Deployment, deploy, type ProcessName } from './deployment.ts';
import { describeMachine } from './results.ts';

/** The results of the soak test with programs that follow events. */
export interface EventsReport {
  minutes: number;
  startedAt: Date;
  postgresVersion: string;
  loadBefore: number;
  events: number;
  kills: { server: number; postgres: number };
  /** The number of crashes before a follower had saved the cursor of an event. */
  crashes: number;
  /** The total number of requests that the followers sent. */
  requests: number;
  faults: string[];
}

const writerCount = 20;
const followerCount = 5;
const writerPauseMs = 200;
/** The maximum time from one kill of a process to the next kill. */
const longestPeaceMs = 20_000;
/** How long PostgreSQL stays down after it was killed. */
const outageMs = 2_000;
const patienceMs = 120_000;
const sampleIntervalMs = 2_000;

/**
 * Runs programs that create ideas and programs ("followers") that follow the events. Meanwhile kills servers and
 * PostgreSQL at random. Each follower must get every committed event exactly once. A follower that crashed before it
 * saved the cursor of an event must get this event again.
 */
export async function runEventsSoak(
  minutes: number,
  note: (line: string) => void,
  signal: AbortSignal,
): Promise<EventsReport> {
  const startedAt = new Date();
  const loadBefore = loadavg()[0] ?? 0;
  note('starting PostgreSQL, two servers and a worker');
  const deployment = await deploy(sampleIntervalMs, 'smtp://127.0.0.1:9');
  try {
    const tokens = await prepare(deployment);
    const [version] = await deployment.query<{ server_version: string }>('show server_version');
    const clients = tokens.map(token => new IdeaBoard({ baseUrl: deployment.balancer.url, token }));
    note(`${writerCount} writers and ${followerCount} followers for ${minutes} minutes`);
    const stopping = new AbortController();
    const followers = clients.slice(0, followerCount).map(client => new Follower(client, stopping.signal));
    let isOver = false;
    const writing = Promise.all(clients.slice(followerCount).map(client => write(client, () => isOver)));
    const kills = await killAtRandom(deployment, minutes, note, signal);
    isOver = true;
    await writing;
    const ids = new Set(await committed(deployment));
    note(`waiting until each follower has ${ids.size} events`);
    const deadline = performance.now() + patienceMs;
    while (followers.some(({ seen }) => seen.size < ids.size) && performance.now() < deadline) await delay(500);
    stopping.abort();
    await Promise.all(followers.map(({ ended }) => ended));
    return {
      minutes,
      startedAt,
      postgresVersion: version?.server_version ?? 'unknown',
      loadBefore,
      events: ids.size,
      kills,
      crashes: followers.reduce((sum, { crashes }) => sum + crashes, 0),
      requests: followers.reduce((sum, { requests }) => sum + requests, 0),
      faults: followers.flatMap((follower, n) => follower.faultsIn(ids).map(fault => `Follower ${n + 1}: ${fault}`)),
    };
  } finally {
    await deployment.close();
  }
}

export const eventsHeading = '## Soak of events';

export function describeEventsSoak(report: EventsReport): string {
  const { minutes, startedAt, kills, faults } = report;
  return `${eventsHeading}

\`npm run soak -- events --minutes ${minutes}\`, on ${startedAt.toISOString().slice(0, 10)}: two servers behind a load balancer, a PostgreSQL that writes
every commit to the disk, ${writerCount} writers and ${followerCount} followers with the SDK. Servers and PostgreSQL are killed at random.
${describeMachine(report)}

${faults.length === 0 ? '**Each follower got every committed event once.**' : [`**${faults.length} problems were found.**`, '', ...faults.slice(0, 20).map(fault => `- ${fault}`)].join('\n')}

| measure | value |
|---|---|
| Committed events | ${report.events} |
| Kills (kill -9) of a server; of PostgreSQL | ${kills.server}; ${kills.postgres} |
| Followers that stopped before they saved a cursor, and started again | ${report.crashes} |
| Requests of all followers | ${report.requests} |
| Events that a follower missed, invented or got again without reason | ${faults.length} |
`;
}

async function prepare({ cli }: Deployment): Promise<string[]> {
  const owner = ['--owner-email', 'ada@example.com', '--owner-name', 'Ada'];
  await cli('account', 'create', '--name', 'Soak', '--slug', 'soak', ...owner);
  await cli('board', 'create', '--slug', 'web-app', '--name', 'Web app');
  const tokens: string[] = [];
  for (let n = 0; n < followerCount + writerCount; n++) {
    const options = ['--name', `Token ${n}`, '--issuer', 'ada@example.com', '--grant', 'moderate'];
    tokens.push((await cli<{ token: string }>('token', 'create', ...options)).token);
  }
  return tokens;
}

async function committed({ query }: Deployment): Promise<string[]> {
  const events = await query<{ id: string }>(
    `select id from events where type in ('idea.created', 'idea.status_changed')`,
  );
  return events.map(({ id }) => `evt_${id}`);
}

async function write(client: IdeaBoard, isOver: () => boolean) {
  for (let n = 0; !isOver(); n++) {
    try {
      const { id } = await client.ideas.create({ title: `Idea ${n}`, body: 'Create me once.' });
      await client.ideas.setStatus(id, { status: 'planned' });
    } catch (error) {
      // This error is expected: if PostgreSQL is down for too long, all retries of a request fail.
      if (!isIdeaBoardError(error)) throw error;
    }
    await delay(Math.random() * writerPauseMs);
  }
}

/**
 * A program that follows the events. The program sometimes crashes after it has handled an event and before it has
 * saved the cursor.
 */
class Follower {
  /** How often this program received each event, by the event's id. */
  readonly seen = new Map<string, number>();
  /** How often this program crashed before it saved the cursor of each event, by the event's id. */
  readonly #unsaved = new Map<string, number>();
  readonly ended: Promise<void>;
  crashes = 0;
  requests = 0;

  constructor(client: IdeaBoard, signal: AbortSignal) {
    const onRequest = () => {
      this.requests += 1;
    };
    const counting = client.withOptions({ hooks: { onRequest } });
    this.ended = this.#follow(counting, signal).catch(error => {
      if (!signal.aborted) throw error;
    });
  }

  async #follow(client: IdeaBoard, signal: AbortSignal) {
    let saved: string | undefined;
    const onCursor = (cursor: string) => {
      saved = cursor;
    };
    for (;;) {
      for await (const { id } of client.events.follow({ after: saved, onCursor, signal })) {
        this.seen.set(id, (this.seen.get(id) ?? 0) + 1);
        if (Math.random() > 0.005) continue;
        this.crashes += 1;
        this.#unsaved.set(id, (this.#unsaved.get(id) ?? 0) + 1);
        break;
      }
    }
  }

  faultsIn(ids: ReadonlySet<string>): string[] {
    return [
      ...[...ids].filter(id => !this.seen.has(id)).map(id => `the event ${id} is missing`),
      ...[...this.seen.keys()].filter(id => !ids.has(id)).map(id => `the event ${id} does not exist`),
      ...[...this.seen]
        .filter(([id, count]) => count !== 1 + (this.#unsaved.get(id) ?? 0))
        .map(([id, count]) => `the event ${id} came ${count} times`),
    ];
  }
}

async function killAtRandom(
  deployment: Deployment,
  minutes: number,
  note: (line: string) => void,
  signal: AbortSignal,
): Promise<EventsReport['kills']> {
  const kills = { server: 0, postgres: 0 };
  const endsAt = performance.now() + minutes * 60_000;
  for (;;) {
    const peaceMs = Math.random() * longestPeaceMs;
    if (performance.now() + peaceMs > endsAt) break;
    await delay(peaceMs, undefined, { signal });
    if (Math.random() < 0.5) {
      const name: ProcessName = Math.random() < 0.5 ? 'server 1' : 'server 2';
      note(`kill -9 of ${name}`);
      await deployment.kill(name);
      kills.server += 1;
    } else {
      note('kill -9 of PostgreSQL');
      await deployment.postgres.stop('kill');
      await delay(Math.random() * outageMs);
      await deployment.postgres.start();
      kills.postgres += 1;
    }
  }
  await delay(Math.max(0, endsAt - performance.now()), undefined, { signal });
  return kills;
}
