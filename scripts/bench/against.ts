import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { median } from 'simple-statistics';
import { collectDeepCursors, type RunningServer, runRound, startServer } from './api.ts';
import { formatTable } from './format-table.ts';
import { readRelease } from './released.ts';
import { isFailed, type Options, type Round } from './report.ts';
import { chosenScenarios, type ScenarioName, scenarios } from './scenarios.ts';
import { seed } from './seed.ts';
import { isBelowSpread, spreadOf } from './spread.ts';
import { type Child, note, type Stage } from './stage.ts';

const runProgram = promisify(execFile);
const repository = fileURLToPath(new URL('../..', import.meta.url));
const rounds = 5;

/**
 * Compares this version of the server with another version. Each version has its own database, with its own migrations
 * and the same ideas. Fails if this version is slower, or if a request failed.
 */
export async function run(stage: Stage, options: Options & { against: string | true }): Promise<boolean> {
  const { against } = options;
  const other = await findVersion(stage, against === true ? (await readRelease()).commit : against);
  const versions = {
    now: await startVersion(stage, repository, options),
    before: await startVersion(stage, other, options),
  };
  const load = stage.startChild('load.ts');
  const results: Comparison[] = [];
  for (const name of chosenScenarios(options.only)) {
    note(scenarios[name].title);
    const first = await compareScenario(versions, load, name, options);
    if (isSlower(first)) note('slower, so measuring again');
    // If chance caused the difference, a second measurement rarely finds the same difference again.
    results.push(isSlower(first) ? await compareScenario(versions, load, name, options) : first);
  }
  process.stdout.write(describe(results, options, against));
  return !results.some(one => isSlower(one) || one.failedRounds > 0);
}

type Versions = Record<'now' | 'before', RunningServer>;

interface Comparison {
  name: ScenarioName;
  /** The speed of this version divided by the speed of the other version, for each pair of rounds. */
  requestRatios: number[];
  cpuRatios: number[];
  requestsPerSecond: Record<keyof Versions, number>;
  failedRounds: number;
}

async function compareScenario(
  versions: Versions,
  load: Child,
  name: ScenarioName,
  { seconds, connections }: Options,
): Promise<Comparison> {
  const measured: Record<keyof Versions, Round[]> = { now: [], before: [] };
  // The first round of each version is a warm-up.
  for (let round = 0; round <= rounds; round++) {
    // The order of the two versions changes in each round, so that neither version always runs second.
    const order = round % 2 === 0 ? (['now', 'before'] as const) : (['before', 'now'] as const);
    for (const which of order) {
      const result = await runRound(versions[which], load, name, seconds, connections);
      if (round > 0) measured[which].push(result);
    }
  }
  const { now, before } = measured;
  const ratiosOf = (speedOf: (round: Round) => number) =>
    now.map((round, index) => speedOf(round) / speedOf(before[index] as Round));
  return {
    name,
    requestRatios: ratiosOf(round => round.requestsPerSecond),
    cpuRatios: ratiosOf(round => 1 / round.cpuMicroseconds),
    requestsPerSecond: {
      now: median(now.map(round => round.requestsPerSecond)),
      before: median(before.map(round => round.requestsPerSecond)),
    },
    failedRounds: [...now, ...before].filter(isFailed).length,
  };
}

function isSlower({ requestRatios, cpuRatios }: Comparison): boolean {
  return isBelowSpread(requestRatios) || isBelowSpread(cpuRatios);
}

function describe(
  results: Comparison[],
  { ideas, votes, seconds, connections }: Options,
  against: string | true,
): string {
  const cells = (ratios: number[]) => [
    `${median(ratios).toFixed(2)} (${spreadOf(ratios).toFixed(2)})`,
    isBelowSpread(ratios) ? 'slower' : '',
  ];
  const rows = [
    ['', 'before', 'now', 'ratio', '', 'ratio', '', 'failed'],
    ['', 'req/s', 'req/s', 'of req/s', '', 'of 1 / CPU', '', 'rounds'],
    ...results.map(({ name, requestsPerSecond: { now, before }, requestRatios, cpuRatios, failedRounds }) => [
      scenarios[name].title,
      before.toFixed(0),
      now.toFixed(0),
      ...cells(requestRatios),
      ...cells(cpuRatios),
      String(failedRounds),
    ]),
  ];
  return `
This version compared with ${against === true ? 'the last release' : against}: ${ideas} ideas, ${votes} votes; ${connections} connections; medians of
${rounds} interleaved rounds of ${seconds} s. A ratio below 1 means that this version is slower. In brackets is the spread: the
difference between the largest and the smallest ratio. "slower" marks a ratio that is below 1 by more than the spread, in
two measurements.

${formatTable(rows)}
`;
}

/** Returns the directory of a version: an existing directory, or a new checkout of a commit. */
async function findVersion(stage: Stage, given: string): Promise<string> {
  const isDirectory = await stat(given).then(
    found => found.isDirectory(),
    () => false,
  );
  if (isDirectory) return resolve(given);
  note(`checking out ${given}`);
  const parent = await mkdtemp(join(tmpdir(), 'idea-board-bench-'));
  const directory = join(parent, 'version');
  stage.onStop(async () => {
    await runProgram('git', ['worktree', 'remove', '--force', directory], { cwd: repository }).catch(() => {});
    await rm(parent, { recursive: true, force: true });
  });
  await runProgram('git', ['worktree', 'add', '--detach', directory, given], { cwd: repository });
  const [lock, otherLock] = await Promise.all(
    [repository, directory].map(one => readFile(join(one, 'package-lock.json'), 'utf8')),
  );
  if (lock === otherLock) await symlink(join(repository, 'node_modules'), join(directory, 'node_modules'));
  else await runProgram('npm', ['ci'], { cwd: directory });
  return directory;
}

async function startVersion(stage: Stage, directory: string, options: Options): Promise<RunningServer> {
  note(`seeding the database of ${directory}`);
  const fileOf = (path: string) => pathToFileURL(join(directory, path)).href;
  const { migrate } = await import(fileOf('server/database/migrator.ts'));
  const { url, filled } = await stage.startDatabase(client => seed(client, options), migrate);
  const server = await startServer(stage, fileOf('scripts/bench/idea-board.ts'), url, filled);
  server.targets.cursors = await collectDeepCursors(server);
  return server;
}
