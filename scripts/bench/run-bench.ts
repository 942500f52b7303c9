import packageFile from '../../package.json' with { type: 'json' };
import { Child, type Usage } from './child.ts';
import { startDatabase } from './database.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import type { BenchOptions } from './options.ts';
import { type ScenarioName, scenarios, type Targets } from './scenarios.ts';
import { seed } from './seed.ts';

/** As npm start has it. A larger heap would be faster, and take twice the memory. */
const { node, compiled } = packageFile.config;

export interface Round extends LoadResult {
  /** Of the server's own process, for each request. */
  cpuMicroseconds: number;
}

export interface ScenarioRounds {
  name: ScenarioName;
  server: Round[];
  /** Of the scenario that a tool is measured beside, else of the floor; none where that does not answer the scenario. */
  floor: Round[];
}

export interface Report {
  options: BenchOptions;
  scenarios: ScenarioRounds[];
  residentBytes: { server: number; floor: number };
}

interface RunningServer {
  child: Child;
  baseUrl: string;
}

/** Runs the whole benchmark, and leaves no process and no file behind, whether it ends, fails or is stopped. */
export async function runBench(options: BenchOptions, signal: AbortSignal): Promise<Report> {
  const stops: (() => Promise<unknown>)[] = [];
  // Ending what is waited for ends the waiting: every step below fails once its process or connection is gone.
  const stop = async () => {
    for (const one of stops.splice(0).reverse()) await one();
  };
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(new Error('stopped')), { once: true });
  });
  const work = measure(options, stops, signal);
  try {
    return await Promise.race([work, aborted]);
  } finally {
    await stop();
    await work.catch(() => {});
    // What was being started when the stop came.
    await stop();
  }
}

async function measure(options: BenchOptions, stops: (() => Promise<unknown>)[], signal: AbortSignal): Promise<Report> {
  const url = await startDatabase(stops);
  note(`seeding ${options.ideas} ideas and ${options.votes} votes`);
  const seeded = await seed(url, options);
  signal.throwIfAborted();

  const start = async (file: string): Promise<RunningServer> => {
    const child = new Child(file, { NODE_COMPILE_CACHE: compiled, DATABASE_URL: url }, node.split(' '));
    stops.push(() => child.stop());
    return { child, baseUrl: await child.call<string>('url') };
  };
  const floor = await start('floor/server.ts');
  const server = await start('idea-board.ts');
  const load = new Child('load.ts');
  stops.push(() => load.stop());
  const targets: Targets = { ...seeded, cursors: await collectDeepCursors(server.baseUrl, seeded) };

  const run = async (which: RunningServer, scenario: ScenarioName, seconds: number): Promise<Round> => {
    const before = await which.child.call<Usage>('usage');
    const order: LoadOrder = { baseUrl: which.baseUrl, scenario, targets, seconds };
    const result = await load.call<LoadResult>(order);
    const after = await which.child.call<Usage>('usage');
    return { ...result, cpuMicroseconds: (after.cpuMicroseconds - before.cpuMicroseconds) / result.requests };
  };

  const results: ScenarioRounds[] = [];
  for (const name of Object.keys(scenarios) as ScenarioName[]) {
    if (options.only.length > 0 && !options.only.includes(name)) continue;
    const { title, hasFloor, besides } = scenarios[name];
    const runFloor = hasFloor
      ? (seconds: number) => run(floor, name, seconds)
      : besides && ((seconds: number) => run(server, besides, seconds));
    note(title);
    const result: ScenarioRounds = { name, server: [], floor: [] };
    await runFloor?.(options.warmUpSeconds);
    await run(server, name, options.warmUpSeconds);
    // By turns, so that what else the machine does meets both alike.
    for (let round = 0; round < options.rounds; round++) {
      if (runFloor) result.floor.push(await runFloor(options.seconds));
      result.server.push(await run(server, name, options.seconds));
    }
    results.push(result);
  }
  const { residentBytes: ofServer } = await server.child.call<Usage>('usage');
  const { residentBytes: ofFloor } = await floor.child.call<Usage>('usage');
  return { options, scenarios: results, residentBytes: { server: ofServer, floor: ofFloor } };
}

/** Walks there as a client would: from pages that are spread over the older half of the list. */
async function collectDeepCursors(baseUrl: string, { tokens, ideaIds }: Omit<Targets, 'cursors'>): Promise<string[]> {
  const cursors: string[] = [];
  const pages = Math.floor(ideaIds.length / 20);
  for (let part = 0; part < 32; part++) {
    const page = Math.max(1, Math.floor(pages * (0.5 + part / 80)));
    const response = await fetch(`${baseUrl}/api/v1/ideas?page=${page}`, {
      headers: { authorization: `Bearer ${tokens[0]}` },
    });
    const { next_cursor: cursor } = (await response.json()) as { next_cursor: string };
    cursors.push(cursor);
  }
  return cursors;
}

/** Progress goes where it does not mix with the figures. */
function note(text: string) {
  process.stderr.write(`${text}\n`);
}
