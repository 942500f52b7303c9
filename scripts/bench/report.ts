import { median } from 'simple-statistics';
import { formatTable } from './format-table.ts';
import { compareWithGoals, goalRow, maxLoopDelayMs, type Ratios } from './goals.ts';
import type { LoadResult } from './load.ts';
import { type ScenarioName, scenarios } from './scenarios.ts';

export interface Options {
  ideas: number;
  votes: number;
  seconds: number;
  rounds: number;
  connections: number;
  /** The scenarios to run. If the list is empty, all scenarios run. */
  only: string[];
  quick?: true;
  json?: true;
  /** Whether to write the ratios into the repository, as the ratios of the last release. */
  save?: true;
}

export interface Round extends LoadResult {
  /** The average CPU time that the server process needs for one request. */
  cpuMicroseconds: number;
  /** The 99th percentile of the delay of the server's event loop. */
  loopDelayP99Ms: number;
}

export interface ScenarioRounds {
  name: ScenarioName;
  server: Round[];
  /** The rounds of the minimal server ("floor"). The list is empty if the scenario has no floor. */
  floor: Round[];
  /** The rounds of the scenario that runs beside this scenario. The list is empty without such a scenario. */
  beside: Round[];
}

export interface Report {
  options: Options;
  scenarios: ScenarioRounds[];
  residentBytes: { server: number; floor: number };
}

const figureNames = ['requestsPerSecond', 'p50Ms', 'p99Ms', 'cpuMicroseconds', 'loopDelayP99Ms'] as const;

/** The medians of one server's rounds in one scenario. */
type Figures = Record<(typeof figureNames)[number], number>;

/** Counts the invalid rounds. A round is invalid if it has answers other than 2xx. */
export function countFailedRounds({ scenarios }: Report): number {
  return scenarios.flatMap(({ server, floor, beside }) => [...server, ...floor, ...beside]).filter(isFailed).length;
}

export function isFailed({ failures }: Round): boolean {
  return Object.keys(failures).length > 0;
}

/** Returns the report and the medians as an object for the JSON output. */
export function summarize(report: Report) {
  return {
    ...report,
    failedRounds: countFailedRounds(report),
    medians: report.scenarios.map(one => ({ name: one.name, ...mediansIn(one), ratios: ratiosIn(one) })),
  };
}

/** Returns the figures as text for people. */
export function describe(report: Report, released: Record<string, Ratios>): string {
  const { ideas, votes, rounds, seconds, connections } = report.options;
  const { server, floor } = report.residentBytes;
  const rows = [
    ['', 'server', 'floor', 'ratio', 'server', 'floor', 'ratio', 'server', 'floor', 'ratio', 'beside', '', 'errors'],
    ['', 'req/s', 'req/s', '', 'p50/p99 ms', 'p50/p99 ms', 'p99', 'CPU µs', 'CPU µs', '', 'CPU ratio', 'loop ms', ''],
    ...report.scenarios.map(rowOf),
    ['resident MB', (server / 1_000_000).toFixed(0), (floor / 1_000_000).toFixed(0)],
  ];
  return `
${ideas} ideas, ${votes} votes; ${connections} connections; medians of ${rounds} interleaved rounds of ${seconds} s.
PostgreSQL writes every commit to the disk (fsync and synchronous_commit are on), as in production.
CPU is the time of the server process per request. "beside" compares it with another request to the same server in
alternating rounds: "get one" for "create" and "comment", and the request to the REST API for a tool.
loop ms is the 99th percentile of the delay of the event loop: of the server and of the floor.
Load generator, servers and PostgreSQL share this machine. Compare only the ratios with other machines.

${formatTable(rows)}

${formatTable(describeGoals(report, released))}

failed rounds: ${countFailedRounds(report)}
`;
}

function describeGoals({ scenarios: measured }: Report, released: Record<string, Ratios>): string[][] {
  const delays = measured.map(one => ({ name: one.name, delayMs: mediansIn(one).server?.loopDelayP99Ms ?? 0 }));
  const longest = delays.toSorted((a, b) => b.delayMs - a.delayMs)[0];
  const ratiosOf = (name: ScenarioName) => {
    const found = measured.find(one => one.name === name);
    return found && ratiosIn(found);
  };
  return [
    ['goal', 'measured', 'last release', 'limit', ''],
    ...compareWithGoals(ratiosOf, released),
    ...(longest
      ? [goalRow(`event loop delay p99 in ms, highest: ${longest.name}`, longest.delayMs, maxLoopDelayMs)]
      : []),
  ];
}

function rowOf(one: ScenarioRounds): string[] {
  const { server, floor } = mediansIn(one);
  const ratios = ratiosIn(one);
  const errors = new Set([...one.server, ...one.floor, ...one.beside].flatMap(({ failures }) => Object.keys(failures)));
  return [
    scenarios[one.name].title,
    whole(server?.requestsPerSecond),
    whole(floor?.requestsPerSecond),
    ratios.requests?.toFixed(2) ?? '',
    latency(server),
    latency(floor),
    ratios.p99?.toFixed(2) ?? '',
    whole(server?.cpuMicroseconds),
    whole(floor?.cpuMicroseconds),
    ratios.cpu?.toFixed(2) ?? '',
    ratios.cpuBeside?.toFixed(2) ?? '',
    `${whole(server?.loopDelayP99Ms)}/${whole(floor?.loopDelayP99Ms)}`,
    errors.size > 0 ? [...errors].join(' ') : '0',
  ];
}

export function ratiosIn(rounds: ScenarioRounds): Ratios {
  const { server, floor, beside } = mediansIn(rounds);
  const ratio = (name: keyof Figures, other: Figures | undefined) => server && other && server[name] / other[name];
  return {
    requests: ratio('requestsPerSecond', floor),
    p99: ratio('p99Ms', floor),
    cpu: ratio('cpuMicroseconds', floor),
    cpuBeside: ratio('cpuMicroseconds', beside),
  };
}

function mediansIn({ server, floor, beside }: ScenarioRounds) {
  return { server: mediansOf(server), floor: mediansOf(floor), beside: mediansOf(beside) };
}

function mediansOf(rounds: Round[]): Figures | undefined {
  if (rounds.length === 0) return undefined;
  return Object.fromEntries(figureNames.map(name => [name, median(rounds.map(round => round[name]))])) as Figures;
}

function whole(value: number | undefined): string {
  return value?.toFixed(0) ?? '';
}

function latency(figures: Figures | undefined): string {
  return figures ? `${figures.p50Ms.toFixed(1)}/${figures.p99Ms.toFixed(1)}` : '';
}
