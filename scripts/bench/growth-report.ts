import { quantile } from 'simple-statistics';
import { formatTable } from './format-table.ts';
import { groups, requests } from './growth-requests.ts';

/** The maximum of a median divided by the median on the next smaller board. */
const maxGrowth = 1.3;
/** The maximum time that PostgreSQL may work on a request, in milliseconds. */
const maxPostgresMs = 50;

/** The times of all requests to one board. */
export interface Series {
  ideas: number;
  measured: { name: string; serverMs: number[]; postgresMs: number[] }[];
  /** The number of responses with a status other than 2xx, by the name of the request and the status. */
  failures: Record<string, number>;
}

interface Figures {
  ideas: number;
  p50Ms: number;
  p99Ms: number;
  postgresP50Ms: number;
  postgresMaxMs: number;
  /** The median divided by the median of the next smaller board. Null for the smallest board of the request. */
  growth: number | null;
}

export interface Row {
  name: string;
  group: (typeof groups)[number];
  /** The boards from the smallest to the largest, without the boards that are too small for the request. */
  figures: Figures[];
}

export interface Summary {
  ideas: number[];
  rows: Row[];
  /**
   * The list of requests contains one request twice. The noise is the largest difference between the two medians of
   * this request on one board, as a share of the smaller median.
   */
  noise: number;
  failures: string[];
}

export function summarize(series: Series[]): Summary {
  const sorted = series.toSorted((a, b) => a.ideas - b.ideas);
  const rows = requests.map(({ name, group }): Row => ({ name, group, figures: figuresOf(sorted, name) }));
  return {
    ideas: sorted.map(({ ideas }) => ideas),
    rows,
    noise: noiseOf(rows),
    failures: sorted.flatMap(({ ideas, failures }) =>
      Object.entries(failures).map(([name, count]) => `${name}: ${count} times at ${ideas} ideas`),
    ),
  };
}

function figuresOf(series: Series[], name: string): Figures[] {
  const figures: Figures[] = [];
  for (const { ideas, measured } of series) {
    const found = measured.find(one => one.name === name);
    if (found === undefined) continue;
    const p50Ms = quantile(found.serverMs, 0.5);
    const smaller = figures.at(-1);
    figures.push({
      ideas,
      p50Ms,
      p99Ms: quantile(found.serverMs, 0.99),
      postgresP50Ms: quantile(found.postgresMs, 0.5),
      postgresMaxMs: Math.max(...found.postgresMs),
      growth: smaller === undefined ? null : p50Ms / smaller.p50Ms,
    });
  }
  return figures;
}

function noiseOf(rows: Row[]): number {
  const differences = requests.flatMap(({ name, repeats }) => {
    const [first, second] = [repeats, name].map(one => rows.find(row => row.name === one)?.figures ?? []);
    return (first ?? []).map(({ p50Ms }, index) => {
      const again = second?.[index]?.p50Ms ?? p50Ms;
      return Math.max(p50Ms, again) / Math.min(p50Ms, again) - 1;
    });
  });
  return Math.max(0, ...differences);
}

export function isWithinLimits({ rows, failures }: Summary): boolean {
  return (
    failures.length === 0 &&
    !rows.some(({ figures }) => figures.some(one => grows(one.growth) || isHeavy(one.postgresMaxMs)))
  );
}

const grows = (growth: number | null) => growth !== null && growth > maxGrowth;

const isHeavy = (postgresMs: number) => postgresMs > maxPostgresMs;

/** Returns the figures as text for people. */
export function describe(summary: Summary, times: number): string {
  const { noise, failures } = summary;
  return `
The time of the server in ms: the median and the 99th percentile of ${times} requests, one after the other. "growth" is the
median divided by the median of the next smaller board. "!" marks a growth over ${maxGrowth}. The noise is ${(noise * 100).toFixed(0)} %: the
largest difference between the medians of "get one" and "get one, again".

${describeTimes(summary)}

The time of PostgreSQL in ms: the sum of the durations that PostgreSQL logs for a request. "!" marks a maximum over
${maxPostgresMs} ms.

${describePostgres(summary)}

failed requests: ${failures.length === 0 ? '0' : failures.join('; ')}
`;
}

function describeTimes(summary: Summary): string {
  return tableOf(summary, ['p50', 'p99', 'growth'], ({ p50Ms, p99Ms, growth }) => [
    p50Ms.toFixed(2),
    p99Ms.toFixed(1),
    growth === null ? '' : mark(growth.toFixed(2), grows(growth)),
  ]);
}

function describePostgres(summary: Summary): string {
  return tableOf(summary, ['p50', 'max'], ({ postgresP50Ms, postgresMaxMs }) => [
    postgresP50Ms.toFixed(2),
    mark(postgresMaxMs.toFixed(1), isHeavy(postgresMaxMs)),
  ]);
}

/** Formats a table that has some columns for each board. */
function tableOf({ ideas, rows }: Summary, columns: string[], cellsOf: (figures: Figures) => string[]): string {
  const headings = [
    ['ideas', ...ideas.flatMap(count => [count.toLocaleString('en'), ...columns.slice(1).map(() => '')])],
    ['', ...ideas.flatMap(() => columns)],
  ];
  const groupsOfRows = groups.map(group => [
    [''],
    [group.toUpperCase()],
    ...rows
      .filter(row => row.group === group)
      .map(({ name, figures }) => [
        name,
        ...ideas.flatMap(count => {
          const found = figures.find(one => one.ideas === count);
          return found ? cellsOf(found) : columns.map(() => '');
        }),
      ]),
  ]);
  return formatTable([...headings, ...groupsOfRows.flat()]);
}

/** Adds an exclamation mark to a figure that exceeds its limit. Adds spaces to other figures, to align the column. */
function mark(text: string, isMarked: boolean): string {
  return `${text}${isMarked ? ' !' : '  '}`;
}
