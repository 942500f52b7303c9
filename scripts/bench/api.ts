import packageFile from '../../package.json' with { type: 'json' };
import type { Usage } from './answer-calls.ts';
import type { LoadOrder, LoadResult } from './load.ts';
import {
  countFailedRounds,
  describe,
  type Options,
  type Report,
  type Round,
  type ScenarioRounds,
  summarize,
} from './report.ts';
import { type ScenarioName, scenarios, type Targets } from './scenarios.ts';
import { seed } from './seed.ts';
import { type Child, note, type Stage } from './stage.ts';

/** The server runs with the Node options of `npm start`. */
const { node, compiled } = packageFile.config;

interface RunningServer {
  child: Child;
  baseUrl: string;
}

/**
 * Compares the server with the "floor", a minimal server that does only the unavoidable work. Fails if any answer has a
 * status other than 2xx.
 */
export async function run(stage: Stage, options: Options): Promise<boolean> {
  const report = await measure(stage, options);
  process.stdout.write(options.json ? `${JSON.stringify(summarize(report), null, 2)}\n` : describe(report));
  return countFailedRounds(report) === 0;
}

async function measure(stage: Stage, options: Options): Promise<Report> {
  note(`seeding ${options.ideas} ideas and ${options.votes} votes`);
  const { url, filled: seeded } = await stage.startDatabase(client => seed(client, options));

  const start = async (file: string): Promise<RunningServer> => {
    const child = stage.startChild(file, { NODE_COMPILE_CACHE: compiled, DATABASE_URL: url }, node.split(' '));
    return { child, baseUrl: await child.call<string>('url') };
  };
  const floor = await start('floor/server.ts');
  const server = await start('idea-board.ts');
  const load = stage.startChild('load.ts');
  const targets: Targets = { ...seeded, cursors: await collectDeepCursors(server.baseUrl, seeded) };

  const runRound = async (which: RunningServer, scenario: ScenarioName, seconds: number): Promise<Round> => {
    const order: LoadOrder = { baseUrl: which.baseUrl, scenario, targets, seconds };
    const { result, cpuMicroseconds } = await which.child.measureCpu(() => load.call<LoadResult>(order));
    return { ...result, cpuMicroseconds: cpuMicroseconds / result.requests };
  };

  const warmUpSeconds = options.quick ? 1 : 2;
  const results: ScenarioRounds[] = [];
  for (const name of Object.keys(scenarios) as ScenarioName[]) {
    if (options.only.length > 0 && !options.only.includes(name)) continue;
    const { title, comparedWith } = scenarios[name];
    const runFloor =
      comparedWith === 'floor'
        ? (seconds: number) => runRound(floor, name, seconds)
        : comparedWith && ((seconds: number) => runRound(server, comparedWith, seconds));
    note(title);
    const result: ScenarioRounds = { name, server: [], floor: [] };
    await runFloor?.(warmUpSeconds);
    await runRound(server, name, warmUpSeconds);
    // The rounds of the two servers alternate, so that other load on the machine affects both servers equally.
    for (let round = 0; round < options.rounds; round++) {
      if (runFloor) result.floor.push(await runFloor(options.seconds));
      result.server.push(await runRound(server, name, options.seconds));
    }
    results.push(result);
  }
  const { residentBytes: ofServer } = await server.child.call<Usage>('usage');
  const { residentBytes: ofFloor } = await floor.child.call<Usage>('usage');
  return { options, scenarios: results, residentBytes: { server: ofServer, floor: ofFloor } };
}

/** Collects the cursors of pages in the older half of the list of ideas. */
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
