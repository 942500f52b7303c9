import { type FileHandle, open, writeFile } from 'node:fs/promises';
import type { OwnPostgres } from '../../test/helpers/own-postgres.ts';
import { drawGrowth } from './growth-chart.ts';
import { describe, isWithinLimits, type Series, summarize } from './growth-report.ts';
import { anyOf, type Board, type MeasuredRequest, requests } from './growth-requests.ts';
import { readTitles, seed } from './seed.ts';
import { type Child, note, type Stage } from './stage.ts';

interface Options {
  ideas: number[];
  times: number;
  svg?: string;
  json?: true;
}

/**
 * The number of turns that are not measured. A turn sends every request once to every board. In these turns, Node still
 * compiles the server's code, and PostgreSQL still plans its statements.
 */
const warmUpTurns = 40;
/**
 * The number of turns that measure the time of PostgreSQL. In the turns that measure the server, PostgreSQL does not
 * log durations, because the log slows PostgreSQL down.
 */
const logTurns = 50;

interface RunningBoard extends Board {
  child: Child;
  baseUrl: string;
  postgres: OwnPostgres;
  requests: MeasuredRequest[];
  /** The number of responses with a status other than 2xx, by the name of the request and the status. */
  failures: Map<string, number>;
}

/**
 * Sends one request at a time to boards of different sizes. Returns false if a request failed, if a median grew too
 * much with the size of the board, or if PostgreSQL worked on a request for too long.
 */
export async function run(stage: Stage, { ideas, times, svg, json }: Options): Promise<boolean> {
  const boards: RunningBoard[] = [];
  for (const size of ideas) boards.push(await startBoard(stage, size));
  note('measuring');
  const serverTimes = await measureServerTimes(boards, times);
  const postgresTimes = await measurePostgresTimes(boards);
  const series = boards.map((board, index): Series => {
    const postgres = postgresTimes[index] ?? [];
    const measured = board.requests.map(({ name }, request) => ({
      name,
      serverMs: serverTimes[index]?.[request] ?? [],
      postgresMs: postgres[request] ?? [],
    }));
    return { ideas: board.ideas, measured, failures: Object.fromEntries(board.failures) };
  });
  const summary = summarize(series);
  if (svg !== undefined) await writeFile(svg, drawGrowth(summary));
  process.stdout.write(json ? `${JSON.stringify(summary, null, 2)}\n` : describe(summary, times));
  return isWithinLimits(summary);
}

async function startBoard(stage: Stage, ideas: number): Promise<RunningBoard> {
  note(`seeding ${ideas} ideas`);
  const startedAt = performance.now();
  const { url, postgres, filled } = await stage.startDatabase(async client => {
    const targets = { ...(await seed(client, { ideas, votes: ideas * 10 })), cursors: [] };
    await client.query('update boards set is_public = true');
    await client.query(insertEvents);
    await client.query(continuePositions);
    await client.query('vacuum analyze events, event_positions');
    return { targets, titles: await readTitles(client, ideas) };
  });
  note(`seeded in ${Math.round((performance.now() - startedAt) / 1000)} s`);
  const child = stage.startServer('idea-board.ts', { DATABASE_URL: url });
  const board = { ...filled, ideas, cursors: new Map<string, string>() };
  return {
    ...board,
    child,
    baseUrl: await child.call<string>('url'),
    postgres,
    requests: requests.filter(({ draft }) => draft(board) !== undefined),
    failures: new Map(),
  };
}

/** Inserts an event `idea.created` for each published idea of the last 30 days. */
const insertEvents = `
with made as (
  insert into events (account_id, board_id, idea_id, actor_id, type, data, body, occurred_at)
  select 1, 1, i.id, i.author_id, 'idea.created', data, event_body('idea.created', data, i.created_at), i.created_at
  from ideas i cross join lateral (
    select jsonb_build_object(
      'board', jsonb_build_object('id', 1, 'slug', 'bench', 'name', 'Bench'), 'idea', idea_columns(1, i.id),
      'actor', jsonb_build_object('id', i.author_id, 'name', 'Person ' || i.author_id, 'token_id', 1), 'changes', '[]'::jsonb
    ) as data
  ) columns
  where i.created_at > now() - interval '30 days' and i.moderation_state = 'published'
  returning id, occurred_at
)
insert into event_positions (account_id, event_id, board_id, type, is_pending, number, position)
overriding system value
select 1, id, 1, 'idea.created', false, row_number() over newest, row_number() over newest
from made window newest as (order by occurred_at)`;

const continuePositions = `
select setval(pg_get_serial_sequence('event_positions', 'number'), coalesce(max(number), 1)) from event_positions`;

/** Returns the times that the server needed, by board and request. */
async function measureServerTimes(boards: RunningBoard[], times: number): Promise<number[][][]> {
  for (const { child } of boards) await child.call('observe');
  await sendTurns(boards, warmUpTurns, send);
  for (const { child } of boards) await child.call('serverTimesMs');
  await sendTurns(boards, times, send);
  return Promise.all(
    boards.map(async ({ child, requests: sent }) => {
      // Each turn sends the same requests in the same order. So the position of a time tells its request.
      const timesMs = await child.call<number[]>('serverTimesMs');
      return sent.map((_, request) => timesMs.filter((_time, index) => index % sent.length === request));
    }),
  );
}

/**
 * Returns the times that PostgreSQL needed, by board and request. The time of a request is the sum of the durations in
 * PostgreSQL's log.
 */
async function measurePostgresTimes(boards: RunningBoard[]): Promise<number[][][]> {
  const logs = new Map<RunningBoard, DurationLog>();
  try {
    for (const board of boards) {
      await board.postgres.configure({ log_duration: 'on' });
      logs.set(board, new DurationLog(await open(board.postgres.logFile)));
    }
    const times = boards.map(board => board.requests.map((): number[] => []));
    await sendTurns(boards, 1 + logTurns, async (board, request) => {
      const log = logs.get(board);
      await log?.readMs();
      await send(board, request);
      const index = board.requests.indexOf(request);
      times[boards.indexOf(board)]?.[index]?.push((await log?.readMs()) ?? 0);
    });
    // Leaves out the first turn, because some sessions of PostgreSQL may not have logged durations in this turn yet.
    return times.map(ofBoard => ofBoard.map(ofRequest => ofRequest.slice(1)));
  } finally {
    for (const log of logs.values()) await log.close();
  }
}

class DurationLog {
  readonly #file: FileHandle;
  #position = 0;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Returns the sum of the durations that PostgreSQL has logged since the last call. */
  async readMs(): Promise<number> {
    const { size } = await this.#file.stat();
    const buffer = Buffer.alloc(size - this.#position);
    await this.#file.read(buffer, 0, buffer.length, this.#position);
    this.#position = size;
    const durations = buffer.toString().matchAll(/ duration: ([0-9.]+) ms/g);
    return durations.reduce((sum, [, duration]) => sum + Number(duration), 0);
  }

  close() {
    return this.#file.close();
  }
}

/** Each turn sends every request once to every board. The boards alternate, so that noise affects all boards equally. */
async function sendTurns(
  boards: RunningBoard[],
  turns: number,
  sendOne: (board: RunningBoard, request: MeasuredRequest) => Promise<void>,
) {
  for (let turn = 0; turn < turns; turn++) {
    const first = turn % boards.length;
    const rotated = [...boards.slice(first), ...boards.slice(0, first)];
    for (const request of requests) {
      for (const board of rotated) if (board.requests.includes(request)) await sendOne(board, request);
    }
  }
}

async function send(board: RunningBoard, request: MeasuredRequest) {
  const { method = 'GET', path = '', body } = request.draft(board) ?? {};
  const headers = { authorization: `Bearer ${anyOf(board.targets.tokens)}`, 'content-type': 'application/json' };
  const response = await fetch(board.baseUrl + path, { method, headers, ...(body && { body }) });
  const text = await response.text();
  if (!response.ok) {
    const failure = `${request.name} ${response.status}`;
    board.failures.set(failure, (board.failures.get(failure) ?? 0) + 1);
  } else if (request.isWalk) {
    const { has_more: hasMore, next_cursor: cursor } = JSON.parse(text) as { has_more: boolean; next_cursor: string };
    if (hasMore) board.cursors.set(request.name, cursor);
    else board.cursors.delete(request.name);
  }
}
