/**
 * Measures how fast webhooks are delivered, beside the least that could send the same: a loop of graphile-worker jobs
 * with the same HTTP call. Runs with `npm run bench -- events`.
 */
import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import pg from 'pg';
import { buildSecretBox } from '../../server/domain/secret-box.ts';
import { makeWebhookSecret, secretPurpose } from '../../server/domain/webhooks/webhook-secret.ts';
import { Child, type Usage } from './child.ts';
import { startDatabase } from './database.ts';

const usage = `Usage: npm run bench -- events [options]

  --deliveries N   deliveries of a round that measures the rate (4000)
  --rounds R       rounds of each (3)
  --seconds S      length of a round that measures the delay (5)
  --per-second N   events each second in it (50)
  --concurrency N  jobs at once of each worker (24)
  --quick          2 rounds of 1500 deliveries and 2 seconds
  --json           the figures as JSON on standard output
`;

interface Options {
  deliveries: number;
  rounds: number;
  seconds: number;
  perSecond: number;
  concurrency: number;
  isJson: boolean;
}

const names = ['webhooks', 'tuned floor', 'plain floor'] as const;
type Name = (typeof names)[number];

interface Measured {
  perSecond: number[];
  cpuMicroseconds: number[];
  delaysMs: number[];
}

/** As many as take every job of a worker with their eight lanes. */
const endpoints = 4;
const ideas = 256;

/** Runs the benchmark with the arguments of the command line, and prints what it found. */
export async function run(args: string[]): Promise<void> {
  const options = readOptions(args);
  const stops: (() => Promise<unknown>)[] = [];
  try {
    const results = await measure(options, stops);
    process.stdout.write(
      options.isJson ? `${JSON.stringify({ options, results }, null, 2)}\n` : describe(options, results),
    );
  } finally {
    for (const stop of stops.reverse()) await stop();
  }
}

async function measure(options: Options, stops: (() => Promise<unknown>)[]): Promise<Record<Name, Measured>> {
  const url = await startDatabase(stops);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  stops.push(() => client.end());
  const appKey = randomBytes(32);
  const environment = {
    DATABASE_URL: url,
    APP_KEY: appKey.toString('base64'),
    WORKER_CONCURRENCY: String(options.concurrency),
  };
  const start = (file: string) => {
    const child = new Child(file, environment);
    stops.push(() => child.stop());
    return child;
  };
  const receiver = start('events/receiver.ts');
  const receiverUrl = await receiver.call<string>('url');
  const worker = start('events/worker.ts');
  const floor = start('events/floor.ts');
  const seeded = await seed(client, receiverUrl, appKey);

  const contestants: Record<Name, Contestant> = {
    webhooks: {
      child: worker,
      startMessage: 'start',
      queueMany: async count => {
        await client.query(recordMany, [seeded.accountId, seeded.firstIdeaId, count / endpoints, seeded.userId, ideas]);
      },
      // One endpoint alone is told, so that one event is one arrival.
      queueOne: async index => {
        const { accountId, firstIdeaId, userId } = seeded;
        const { rows } = await client.query(recordOne, [accountId, firstIdeaId + (index % ideas), userId]);
        return `evt_${rows[0].id}`;
      },
    },
    'tuned floor': floorOf(floor, 'start tuned', client, receiverUrl, seeded.body),
    'plain floor': floorOf(floor, 'start plain', client, receiverUrl, seeded.body),
  };

  const results = Object.fromEntries(
    names.map(name => [name, { perSecond: [], cpuMicroseconds: [], delaysMs: [] }]),
  ) as unknown as Record<Name, Measured>;
  // The first round of each warms up and does not count.
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
  /** Answers the webhook-id under which it will arrive. */
  queueOne(index: number): Promise<string>;
}

function floorOf(child: Child, startMessage: string, client: pg.Client, url: string, body: string): Contestant {
  return {
    child,
    startMessage,
    queueMany: async count => {
      await client.query(addBareJobs, [count, url, body]);
    },
    queueOne: async index => {
      const id = `evt_${index}`;
      await client.query(addBareJob, [url, id, body]);
      return id;
    },
  };
}

/** Everything is queued before the worker starts; what counts is the time from the first arrival to the last. */
async function measureRate(one: Contestant, receiver: Child, count: number) {
  await one.queueMany(count);
  await receiver.call('take');
  const before = await one.child.call<Usage>('usage');
  await one.child.call(one.startMessage);
  await arrive(receiver, count);
  const after = await one.child.call<Usage>('usage');
  await one.child.call('stop');
  const arrivals = await receiver.call<[string, number][]>('take');
  const times = arrivals.map(([, at]) => at).sort((a, b) => a - b);
  const seconds = ((times.at(-1) ?? 0) - (times[0] ?? 0)) / 1000;
  return { perSecond: count / seconds, cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / count };
}

/** From the answer to the commit to the arrival, at a rate that is no trouble. */
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
    $1::bigint, 'idea.voted', $2::bigint + n % $5::int, null, $4::bigint, null,
    '{"vote": {"value": "up", "previous": "none"}}', now()
  )) from generate_series(1, $3::int) n`;

const recordOne = `select record_event(
    $1, 'idea.voted', $2, null, $3, null, '{"vote": {"value": "up", "previous": "none"}}', now()
  ) as id`;

const bareJob = (id: string) =>
  `graphile_worker.add_job('bench_post', json_build_object('url', $URL::text, 'id', ${id}, 'body', $BODY::text))`;
const addBareJobs = `select count(${bareJob(`'evt_' || n`)}) from generate_series(1, $1::int) n`
  .replace('$URL', '$2')
  .replace('$BODY', '$3');
const addBareJob = `select ${bareJob('$2::text')}`.replace('$URL', '$1').replace('$BODY', '$3');

async function seed(client: pg.Client, url: string, appKey: Buffer) {
  const one = async (text: string, values: unknown[]): Promise<number> => {
    const { rows } = await client.query(text, values);
    return Number(rows[0].id);
  };
  const accountId = await one(`insert into accounts (slug, name) values ('bench', 'Bench') returning id`, []);
  const userId = await one(`insert into users (email, name) values ('ada@example.com', 'Ada') returning id`, []);
  const boardId = await one(`insert into boards (account_id, slug, name) values ($1, 'bench', 'Bench') returning id`, [
    accountId,
  ]);
  const statusId = await one(
    `insert into statuses (account_id, board_id, key, category, label, position)
    values ($1, $2, 'open', 'inbox', 'Open', 0) returning id`,
    [accountId, boardId],
  );
  const firstIdeaId = await one(
    `insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state)
    select $1, $2, $3, $4, 'Idea ' || n, repeat('What it is about. ', 20), 'published'
    from generate_series(1, ${ideas}) n
    returning id`,
    [accountId, boardId, userId, statusId],
  );
  const box = buildSecretBox(appKey);
  for (let index = 0; index < endpoints; index++) {
    await client.query(`insert into webhook_endpoints (account_id, url, secret) values ($1, $2, $3)`, [
      accountId,
      url,
      box.seal(makeWebhookSecret(), secretPurpose),
    ]);
  }
  const { rows } = await client.query(`select idea_columns($1, $2)::text as body`, [accountId, firstIdeaId]);
  return { accountId, firstIdeaId, userId, body: String(rows[0].body) };
}

function describe(options: Options, results: Record<Name, Measured>): string {
  const rate = (name: Name) => quantile(results[name].perSecond, 0.5);
  const ratio = (name: Name) => (rate('webhooks') / rate(name)).toFixed(2);
  const rows = [
    ['', 'deliveries/s', 'CPU µs each', 'delay p50 ms', 'p99 ms', 'webhooks to it'],
    ...names.map(name => [
      name,
      rate(name).toFixed(0),
      quantile(results[name].cpuMicroseconds, 0.5).toFixed(0),
      quantile(results[name].delaysMs, 0.5).toFixed(1),
      quantile(results[name].delaysMs, 0.99).toFixed(1),
      name === 'webhooks' ? '' : ratio(name),
    ]),
  ];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)));
  const lines = rows.map(row => row.map((cell, column) => cell.padStart(widths[column] ?? 0)).join('  '));
  return `
${options.deliveries} deliveries to ${endpoints} endpoints at a time, ${options.concurrency} jobs at once; medians of ${options.rounds} interleaved rounds.
The delay is from the commit to the arrival, at ${options.perSecond} events a second. Both floors post the same from
graphile-worker jobs and do nothing else; the tuned one has our worker's settings of graphile-worker.
Receiver, workers and PostgreSQL share this machine: the ratios carry over to another, the figures do not.

${lines.join('\n')}
`;
}

function quantile(values: number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

function readOptions(args: string[]): Options {
  const { values } = parseArgs({
    args,
    options: {
      deliveries: { type: 'string' },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
      'per-second': { type: 'string' },
      concurrency: { type: 'string' },
      quick: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(usage);
    process.exit(0);
  }
  const { quick } = values;
  return {
    deliveries: positive('deliveries', values.deliveries, quick ? 1500 : 4000),
    rounds: positive('rounds', values.rounds, quick ? 2 : 3),
    seconds: positive('seconds', values.seconds, quick ? 2 : 5),
    perSecond: positive('per-second', values['per-second'], 50),
    concurrency: positive('concurrency', values.concurrency, 24),
    isJson: values.json,
  };
}

function positive(name: string, text: string | undefined, fallback: number): number {
  const value = text === undefined ? fallback : Number(text);
  if (!Number.isSafeInteger(value) || value < 1) throw new Error(`--${name} must be a whole number from 1`);
  return value;
}

function note(text: string) {
  process.stderr.write(`${text}\n`);
}

if (import.meta.main) await run(process.argv.slice(2));
