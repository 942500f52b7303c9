import { linearRegression } from 'simple-statistics';
import type { Usage } from './answer-calls.ts';
import { runRound, startServer } from './api.ts';
import { formatTable } from './format-table.ts';
import { goalRow } from './goals.ts';
import type { ScenarioName } from './scenarios.ts';
import { seed } from './seed.ts';
import { note, type Stage } from './stage.ts';

interface Options {
  ideas: number;
  requests: number;
  samples: number;
}

/** The scenarios that run in turns, each for two seconds. */
const mix: ScenarioName[] = ['list', 'one', 'vote', 'one', 'search', 'create', 'comment', 'status'];
const secondsOfTurn = 2;

/** The goals: the resident memory at the end, and its growth in the second half of the requests. */
const maxMegabytes = 150;
const maxGrowthMegabytes = 5;

/**
 * Sends a mix of requests to a server that also runs the worker, as `npm start` does. Returns whether all requests
 * succeeded. Prints the missed goals, but does not fail because of them.
 */
export async function run(stage: Stage, { ideas, requests, samples }: Options): Promise<boolean> {
  note(`seeding ${ideas} ideas`);
  const { url, filled } = await stage.startDatabase(client => seed(client, { ideas, votes: ideas * 10 }));
  const server = await startServer(stage, 'idea-board.ts', url, filled);
  await server.child.call('start');
  const load = stage.startChild('load.ts');
  const megabytes = async () => (await server.child.call<Usage>('usage')).residentBytes / 1_000_000;

  const measured = [{ requests: 0, megabytes: await megabytes() }];
  const failures = new Set<string>();
  let sent = 0;
  for (let turn = 0; sent < requests; turn++) {
    const round = await runRound(server, load, mix[turn % mix.length] as ScenarioName, secondsOfTurn);
    sent += round.requests;
    for (const failure of Object.keys(round.failures)) failures.add(failure);
    if (sent < (requests * measured.length) / samples) continue;
    measured.push({ requests: sent, megabytes: await megabytes() });
    note(`${sent} requests: ${measured.at(-1)?.megabytes.toFixed(0)} MB`);
  }

  const secondHalf = measured.filter(one => one.requests > sent / 2);
  const { m: growth } = linearRegression(secondHalf.map(one => [one.requests, one.megabytes]));
  const rows = [['requests', 'resident MB'], ...measured.map(one => [String(one.requests), one.megabytes.toFixed(0)])];
  const goals = [
    ['goal', 'measured', '', 'limit', ''],
    goalRow('resident MB at the end', measured.at(-1)?.megabytes ?? 0, maxMegabytes),
    goalRow('growth in MB in the second half, from a straight line', (growth * sent) / 2, maxGrowthMegabytes),
  ];
  process.stdout.write(
    `\n${formatTable(rows)}\n\n${formatTable(goals)}\n\nfailures: ${[...failures].join(' ') || 'none'}\n`,
  );
  return failures.size === 0;
}
