import type { Report, Round, ScenarioRounds } from './run-bench.ts';
import { connections, scenarios } from './scenarios.ts';

/** The medians of the rounds of one server in one scenario. */
interface Figures {
  requestsPerSecond: number;
  p50Ms: number;
  p99Ms: number;
  cpuMicroseconds: number;
}

export function printReport(report: Report, isJson: boolean) {
  const text = isJson ? `${JSON.stringify(summarize(report), null, 2)}\n` : describe(report);
  process.stdout.write(text);
}

/** A round in which anything but 2xx was answered measured something else. */
export function countFailedRounds(report: Report): number {
  return report.scenarios.flatMap(({ server, floor }) => [...server, ...floor]).filter(hasFailed).length;
}

function summarize(report: Report) {
  return {
    ...report,
    failedRounds: countFailedRounds(report),
    medians: report.scenarios.map(one => ({ name: one.name, ...compare(one) })),
  };
}

function describe(report: Report): string {
  const { ideas, votes, rounds, seconds } = report.options;
  const rows = [
    ['', 'server', 'floor', 'ratio', 'server', 'floor', 'server', 'floor', 'ratio', 'errors'],
    ['', 'req/s', 'req/s', '', 'p50/p99 ms', 'p50/p99 ms', 'CPU µs', 'CPU µs', '', ''],
    ...report.scenarios.map(rowOf),
    ['resident MB', megabytes(report.residentBytes.server), megabytes(report.residentBytes.floor)],
  ];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map(row => row[column]?.length ?? 0)));
  const lines = rows.map(row =>
    row
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  '),
  );
  return `
${ideas} ideas, ${votes} votes; ${connections} connections; medians of ${rounds} interleaved rounds of ${seconds} s.
PostgreSQL writes every commit to the disk (fsync and synchronous_commit are on), as in production.
CPU is what the server's own process used for a request. What a tool is measured beside is the same request to REST, at
the same server. Load generator, servers and PostgreSQL share this machine:
the ratios carry over to another, the figures do not.

${lines.join('\n')}

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

function compare({ server, floor }: ScenarioRounds) {
  const ofServer = mediansOf(server);
  const ofFloor = mediansOf(floor);
  const ratio = ofServer && ofFloor && ofServer.requestsPerSecond / ofFloor.requestsPerSecond;
  const cpuRatio = ofServer && ofFloor && ofServer.cpuMicroseconds / ofFloor.cpuMicroseconds;
  return { server: ofServer, floor: ofFloor, ratio, cpuRatio };
}

function mediansOf(rounds: Round[]): Figures | undefined {
  if (rounds.length === 0) return undefined;
  return {
    requestsPerSecond: median(rounds.map(round => round.requestsPerSecond)),
    p50Ms: median(rounds.map(round => round.p50Ms)),
    p99Ms: median(rounds.map(round => round.p99Ms)),
    cpuMicroseconds: median(rounds.map(round => round.cpuMicroseconds)),
  };
}

function hasFailed({ failures }: Round): boolean {
  return Object.keys(failures).length > 0;
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.floor(middle)] ?? 0) + (sorted[Math.ceil(middle) - 1] ?? 0)) / 2;
}

function whole(value: number | undefined): string {
  return value === undefined ? '' : value.toFixed(0);
}

function latency(figures: Figures | undefined): string {
  return figures ? `${figures.p50Ms.toFixed(1)}/${figures.p99Ms.toFixed(1)}` : '';
}

function megabytes(bytes: number): string {
  return (bytes / 1_000_000).toFixed(0);
}
