import type { Usage } from './answer-calls.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import { readRelease, saveRelease } from './released.ts';
import {
  countFailedRounds,
  describe,
  type Options,
  type Report,
  type Round,
  type ScenarioRounds,
  summarize,
} from './report.ts';
import { chosenScenarios, defaultConnections, type ScenarioName, scenarios, type Targets } from './scenarios.ts';
import { type Seed, seed } from './seed.ts';
import { type Child, note, type Stage } from './stage.ts';

export interface RunningServer {
  child: Child;
  baseUrl: string;
  targets: Targets;
}

/**
 * Compares the server with the "floor", a minimal server that does only the unavoidable work. Fails if any answer has a
 * status other than 2xx. Prints the missed goals, but does not fail because of them.
 */
export async function run(stage: Stage, options: Options): Promise<boolean> {
  const report = await measure(stage, options);
  const { ratios } = await readRelease();
  process.stdout.write(options.json ? `${JSON.stringify(summarize(report), null, 2)}\n` : describe(report, ratios));
  if (options.save) await saveRelease(report);
  return countFailedRounds(report) === 0;
}

async function measure(stage: Stage, options: Options): Promise<Report> {
  note(`seeding ${options.ideas} ideas and ${options.votes} votes`);
  const { url, filled } = await stage.startDatabase(client => seed(client, options));
  const floor = await startServer(stage, 'floor/server.ts', url, filled);
  const server = await startServer(stage, 'idea-board.ts', url, filled);
  const load = stage.startChild('load.ts');
  server.targets.cursors = await collectDeepCursors(server);

  const warmUpSeconds = options.quick ? 1 : 2;
  const results: ScenarioRounds[] = [];
  for (const name of chosenScenarios(options.only)) {
    const { title, hasFloor, beside } = scenarios[name];
    note(title);
    const result: ScenarioRounds = { name, server: [], floor: [], beside: [] };
    // The rounds of the two servers alternate, so that other load on the machine affects both servers equally. The
    // first round is a warm-up.
    for (let round = 0; round <= options.rounds; round++) {
      const seconds = round === 0 ? warmUpSeconds : options.seconds;
      const floorRound = hasFloor && (await runRound(floor, load, name, seconds, options.connections));
      const besideRound = beside && (await runRound(server, load, beside, seconds, options.connections));
      const serverRound = await runRound(server, load, name, seconds, options.connections);
      if (round === 0) continue;
      if (floorRound) result.floor.push(floorRound);
      if (besideRound) result.beside.push(besideRound);
      result.server.push(serverRound);
    }
    results.push(result);
  }
  const { residentBytes: ofServer } = await server.child.call<Usage>('usage');
  const { residentBytes: ofFloor } = await floor.child.call<Usage>('usage');
  return { options, scenarios: results, residentBytes: { server: ofServer, floor: ofFloor } };
}

export async function startServer(stage: Stage, file: string, url: string, seeded: Seed): Promise<RunningServer> {
  const child = stage.startServer(file, { DATABASE_URL: url });
  return { child, baseUrl: await child.call<string>('url'), targets: { ...seeded, cursors: [] } };
}

export async function runRound(
  { child, baseUrl, targets }: RunningServer,
  load: Child,
  scenario: ScenarioName,
  seconds: number,
  connections = defaultConnections,
): Promise<Round> {
  const order: LoadOrder = { baseUrl, scenario, targets, seconds, connections };
  const { result, cpuMicroseconds, loopDelayP99Ms } = await child.measureCpu(() => load.call<LoadResult>(order));
  return { ...result, cpuMicroseconds: cpuMicroseconds / result.requests, loopDelayP99Ms };
}

/** Collects the cursors of pages in the older half of the list of ideas. */
export async function collectDeepCursors({ baseUrl, targets: { tokens, ideaIds } }: RunningServer): Promise<string[]> {
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
