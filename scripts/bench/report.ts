import { median } from 'simple-statistics';
import { formatTable } from './format-table.ts';
import type { LoadResult } from './load.ts';
import { connections, type ScenarioName, scenarios } from './scenarios.ts';

export interface Options {
  ideas: number;
  votes: number;
  seconds: number;
  rounds: number;
  /** The scenarios to run. If the list is empty, all scenarios run. */
  only: string[];
  quick?: true;
  json?: true;
}

export interface Round extends LoadResult {
  /** The average CPU time that the server process needs for one request. */
  cpuMicroseconds: number;
}

export interface ScenarioRounds {
  name: ScenarioName;
  server: Round[];
  /**
   * The rounds of the minimal server ("floor") or, for an MCP tool, of the same request over REST. The list is empty if
   * the scenario has no such comparison.
   */
  floor: Round[];
}

export interface Report {
  options: Options;
  scenarios: ScenarioRounds[];
  residentBytes: { server: number; floor: number };
}

const figureNames = ['requestsPerSecond', 'p50Ms', 'p99Ms', 'cpuMicroseconds'] as const;

/** The medians of one server's rounds in one scenario. */
type Figures = Record<(typeof figureNames)[number], number>;

/** Counts the invalid rounds. A round is invalid if it has answers other than 2xx. */
export function countFailedRounds(report: Report): number {
  return report.scenarios
    .flatMap(({ server, floor }) => [...server, ...floor])
    .filter(({ failures }) => Object.keys(failures).length > 0).length;
}

/** Returns the report and the medians as an object for the JSON output. */
export function summarize(report: Report) {
  return {
    ...report,
    failedRounds: countFailedRounds(report),
    medians: report.scenarios.map(one => ({ name: one.name, ...compare(one) })),
  };
}

/** Returns the figures as text for people. */
export function describe(report: Report): string {
  const { ideas, votes, rounds, seconds } = report.options;
  const { server, floor } = report.residentBytes;
  const rows = [
    ['', 'server', 'floor', 'ratio', 'server', 'floor', 'server', 'floor', 'ratio', 'errors'],
    ['', 'req/s', 'req/s', '', 'p50/p99 ms', 'p50/p99 ms', 'CPU µs', 'CPU µs', '', ''],
    ...report.scenarios.map(rowOf),
    ['resident MB', (server / 1_000_000).toFixed(0), (floor / 1_000_000).toFixed(0)],
  ];
  return `
${ideas} ideas, ${votes} votes; ${connections} connections; medians of ${rounds} interleaved rounds of ${seconds} s.
PostgreSQL writes every commit to the disk (fsync and synchronous_commit are on), as in production.
CPU is the time of the server process per request. The floor of a tool is the same request to the REST API of the same
server. Load generator, servers and PostgreSQL share this machine. Compare only the ratios with other machines.

${formatTable(rows)}

failed rounds: ${countFailedRounds(report)}
`;
}

function rowOf(one: ScenarioRounds): string[] {
  const { server, floor, ratio, cpuRatio } = compare(one);
  const errors = new Set([...one.server, ...one.floor].flatMap(({ failures }) => Object.keys(failures)));
  return [
    scenarios[one.name].title,
    whole(server?.requestsPerSecond),
    whole(floor?.requestsPerSecond),
    ratio?.toFixed(2) ?? '',
    latency(server),
    latency(floor),
    whole(server?.cpuMicroseconds),
    whole(floor?.cpuMicroseconds),
    cpuRatio?.toFixed(2) ?? '',
    errors.size > 0 ? [...errors].join(' ') : '0',
  ];
}

function compare(rounds: ScenarioRounds) {
  const [server, floor] = [mediansOf(rounds.server), mediansOf(rounds.floor)];
  const ratio = server && floor && server.requestsPerSecond / floor.requestsPerSecond;
  const cpuRatio = server && floor && server.cpuMicroseconds / floor.cpuMicroseconds;
  return { server, floor, ratio, cpuRatio };
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
