import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { median, quantile } from 'simple-statistics';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import { makeWebhookSecret, secretPurpose } from '../../server/domain/webhooks/webhook-secret.ts';
import { formatTable } from './format-table.ts';
import { goalRow } from './goals.ts';
import { seed } from './seed.ts';
import { type Child, note, type Stage } from './stage.ts';

interface Options {
  deliveries: number;
  rounds: number;
  seconds: number;
  perSecond: number;
  concurrency: number;
  json?: true;
}

const names = ['webhooks', 'bare loop', 'tuned floor', 'plain floor'] as const;

/** The goal for the worker's deliveries per second, divided by the deliveries per second of the bare loop. */
const minRatio = 0.8;
type Name = (typeof names)[number];

interface Measured {
  perSecond: number[];
  cpuMicroseconds: number[];
  delaysMs: number[];
}

/**
 * The number of webhook endpoints. Each endpoint has eight delivery queues ("lanes"), so all endpoints together can
 * keep a worker busy.
 */
const endpoints = 4;
const ideas = 256;

/**
 * Measures the rate and the delay of webhook deliveries. Compares our worker with a bare loop without a job queue, and
 * with two minimal workers of graphile-worker ("floors"). The bare loop and the floors only send the same HTTP requests
 * as our worker.
 */
export async function run(stage: Stage, options: Options): Promise<boolean> {
  const results = await measure(stage, options);
  process.stdout.write(
    options.json ? `${JSON.stringify({ options, results }, null, 2)}\n` : describe(options, results),
  );
  return true;
}

async function measure(stage: Stage, options: Options): Promise<Record<Name, Measured>> {
  const { url } = await stage.startDatabase(client => seed(client, { ideas, votes: 0 }));
  const client = await stage.connect(url);
  // No webhook receives the events of a pending idea.
  await client.query(`update ideas set moderation_state = 'published'`);
  const appKey = randomBytes(32);
  const environment = {
    DATABASE_URL: url,
    APP_KEY: appKey.toString('base64'),
    WORKER_CONCURRENCY: String(options.concurrency),
  };
  const receiver = stage.startChild('receiver.ts');
  const receiverUrl = await receiver.call<string>('url');
  const worker = stage.startServer('idea-board.ts', environment);
  const floor = stage.startChild('floor/worker.ts', environment);
  await client.query(makeOutbox);
  const outbox = stage.startChild('floor/outbox.ts', environment);
  await addEndpoints(client, receiverUrl, appKey);
  const { rows } = await client.query('select idea_columns(1, 1)::text as body');
  const body = String(rows[0].body);

  const contestants: Record<Name, Contestant> = {
    webhooks: {
      child: worker,
      startMessage: 'start',
      queueMany: async count => {
        await client.query(recordMany, [count / endpoints, ideas]);
      },
      // Only one endpoint is enabled when the benchmark calls this function, so the worker delivers each event once.
      queueOne: async index => {
        const { rows } = await client.query(recordOne, [1 + (index % ideas)]);
        return `evt_${rows[0].id}`;
      },
    },
    'bare loop': floorOf(outbox, 'start', client, addToOutbox, [receiverUrl, body]),
    'tuned floor': floorOf(floor, 'start tuned', client, addBareJobs, [receiverUrl, body]),
    'plain floor': floorOf(floor, 'start plain', client, addBareJobs, [receiverUrl, body]),
  };

  const results = Object.fromEntries(
    names.map(name => [name, { perSecond: [], cpuMicroseconds: [], delaysMs: [] }]),
  ) as unknown as Record<Name, Measured>;
  // The first round is a warm-up, so its figures are discarded.
  for (let round = 0; round <= options.rounds; round++) {
    for (const name of names) {
      await client.query(`update webhook_endpoints set disabled_at = null, disabled_reason = null`);
      const { perSecond, cpuMicroseconds } = await measureRate(contestants[name], receiver, options.deliveries);
      note(`${name}: ${perSecond.toFixed(0)} deliveries/s`);
      if (round === 0) continue;
      results[name].perSecond.push(perSecond);
      results[name].cpuMicroseconds.push(cpuMicroseconds);
    }
  }
  await client.query(
    `update webhook_endpoints set disabled_at = now(), disabled_reason = 'one is enough'
    where id > (select min(id) from webhook_endpoints)`,
  );
  for (let round = 0; round <= options.rounds; round++) {
    for (const name of names) {
      const delaysMs = await measureDelay(contestants[name], receiver, options);
      note(`${name}: ${quantile(delaysMs, 0.5).toFixed(1)} ms, p99 ${quantile(delaysMs, 0.99).toFixed(1)} ms`);
      if (round > 0) results[name].delaysMs.push(...delaysMs);
    }
  }
  return results;
}

interface Contestant {
  child: Child;
  startMessage: string;
  queueMany(count: number): Promise<void>;
  /** Queues one event or job. Returns the header `webhook-id` of its delivery. */
  queueOne(index: number): Promise<string>;
}

/** The statement `add` adds deliveries with the numbers from $1 to $2. The other parameters are the URL and the body. */
function floorOf(
  child: Child,
  startMessage: string,
  client: pg.Client,
  add: string,
  request: [url: string, body: string],
): Contestant {
  return {
    child,
    startMessage,
    queueMany: async count => {
      await client.query(add, [1, count, ...request]);
    },
    queueOne: async index => {
      await client.query(add, [index, index, ...request]);
      return `evt_${index}`;
    },
  };
}

/**
 * Queues all deliveries before the worker starts. Measures the number of arrivals per second and the CPU time of each
 * delivery.
 */
async function measureRate(one: Contestant, receiver: Child, count: number) {
  await one.queueMany(count);
  await receiver.call('take');
  const { cpuMicroseconds } = await one.child.measureCpu(async () => {
    await one.child.call(one.startMessage);
    await arrive(receiver, count);
  });
  await one.child.call('stop');
  const arrivals = await receiver.call<[string, number][]>('take');
  const times = arrivals.map(([, at]) => at).sort((a, b) => a - b);
  const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
  return { perSecond: count / seconds, cpuMicroseconds: cpuMicroseconds / count };
}

/** Measures the time from the commit of an event to the arrival of its webhook, at a low rate of events. */
async function measureDelay(one: Contestant, receiver: Child, { seconds, perSecond }: Options): Promise<number[]> {
  await one.child.call(one.startMessage);
  await delay(300);
  await receiver.call('take');
  const committedAt = new Map<string, number>();
  const startedAt = performance.now();
  for (let index = 0; index < seconds * perSecond; index++) {
    await delay(Math.max(0, startedAt + (index * 1000) / perSecond - performance.now()));
    const id = await one.queueOne(index);
    committedAt.set(id, performance.timeOrigin + performance.now());
  }
  await arrive(receiver, committedAt.size);
  await one.child.call('stop');
  const arrivals = await receiver.call<[string, number][]>('take');
  return arrivals.map(([id, at]) => at - (committedAt.get(id) ?? Number.NaN));
}

async function arrive(receiver: Child, count: number) {
  while ((await receiver.call<number>('count')) < count) await delay(20);
}

const recordMany = `select count(record_event(
    1, 'idea.voted', 1 + n % $2::int, null, 1, null, '{"vote": {"value": "up", "previous": "none"}}', now()
  )) from generate_series(1, $1::int) n`;

const recordOne = `select record_event(
    1, 'idea.voted', $1, null, 1, null, '{"vote": {"value": "up", "previous": "none"}}', now()
  ) as id`;

const addBareJobs = `select count(graphile_worker.add_job(
    'bench_post', json_build_object('url', $3::text, 'id', 'evt_' || n, 'body', $4::text)
  )) from generate_series($1::int, $2::int) n`;

const makeOutbox = `create table bench_outbox (
    id bigint generated always as identity primary key, url text, event_id text, body text
  )`;

const addToOutbox = `with added as (
    insert into bench_outbox (url, event_id, body) select $3, 'evt_' || n, $4 from generate_series($1::int, $2::int) n
  )
  select pg_notify('bench_outbox', '')`;

async function addEndpoints(client: pg.Client, url: string, appKey: Buffer) {
  const box = buildSecretBox(appKey);
  for (let index = 0; index < endpoints; index++) {
    const secret = box.seal(makeWebhookSecret(), secretPurpose);
    await client.query(
      `insert into webhook_endpoints (account_id, url, secret, event_types) values (1, $1, $2, '{idea.voted}')`,
      [url, secret],
    );
  }
}

function describe(options: Options, results: Record<Name, Measured>): string {
  const rate = (name: Name) => median(results[name].perSecond);
  const ratio = (name: Name) => (rate('webhooks') / rate(name)).toFixed(2);
  const rows = [
    ['', 'deliveries/s', 'CPU µs each', 'delay p50 ms', 'p99 ms', 'webhooks to it'],
    ...names.map(name => [
      name,
      rate(name).toFixed(0),
      median(results[name].cpuMicroseconds).toFixed(0),
      quantile(results[name].delaysMs, 0.5).toFixed(1),
      quantile(results[name].delaysMs, 0.99).toFixed(1),
      name === 'webhooks' ? '' : ratio(name),
    ]),
  ];
  return `
${options.deliveries} deliveries to ${endpoints} endpoints at a time, ${options.concurrency} concurrent jobs; medians of ${options.rounds} interleaved rounds.
The delay is from the commit to the arrival, at ${options.perSecond} events per second. The bare loop takes a hundred rows from a table,
signs them and sends the requests. Both floors only send the same requests from graphile-worker jobs. The tuned one has
the graphile-worker settings of our worker.
Receiver, workers and PostgreSQL share this machine. Compare only the ratios with other machines.

${formatTable(rows)}

${formatTable([['goal', 'measured', '', 'limit', ''], goalRow('deliveries/s to the bare loop', rate('webhooks') / rate('bare loop'), minRatio, { isMinimum: true })])}
`;
}
