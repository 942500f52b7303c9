import type { ScenarioName } from './scenarios.ts';

/** The figures of a scenario that a goal can limit. */
export interface Ratios {
  /** Requests per second, divided by the requests per second of the floor (a minimal server). */
  requests?: number | undefined;
  /** The 99th percentile of the response time, divided by the p99 of the floor. */
  p99?: number | undefined;
  /** The CPU time of the server for each request, divided by the CPU time of the floor. */
  cpu?: number | undefined;
  /**
   * The CPU time of the server for each request, divided by the server's CPU time for each request of the scenario that
   * runs beside this scenario.
   */
  cpuBeside?: number | undefined;
}

interface Goal {
  scenario: ScenarioName;
  figure: keyof Ratios;
  /** The lowest allowed value of the figure `requests`, or the highest allowed value of another figure. */
  limit: number;
}

const goals: Goal[] = [
  ...(['list', 'one', 'vote'] as const).flatMap((scenario): Goal[] => [
    { scenario, figure: 'requests', limit: 0.85 },
    { scenario, figure: 'cpu', limit: 1.25 },
    { scenario, figure: 'p99', limit: 1.5 },
  ]),
  { scenario: 'search', figure: 'requests', limit: 0.7 },
  { scenario: 'similar', figure: 'requests', limit: 0.7 },
  { scenario: 'create', figure: 'cpuBeside', limit: 2.4 },
  { scenario: 'comment', figure: 'cpuBeside', limit: 2.4 },
];

/** The goal for the 99th percentile of the event loop's delay, in milliseconds. */
export const maxLoopDelayMs = 20;

const names: Record<keyof Ratios, string> = {
  requests: 'requests/s to the floor',
  cpu: 'CPU to the floor',
  p99: 'p99 to the floor',
  cpuBeside: 'CPU to "get one"',
};

/**
 * Returns a row for each goal with a measured figure. The row also has the figure of the last release, the limit and the
 * result.
 */
export function compareWithGoals(
  ratiosOf: (name: ScenarioName) => Ratios | undefined,
  released: Record<string, Ratios>,
): string[][] {
  return goals.flatMap(({ scenario, figure, limit }) => {
    const measured = ratiosOf(scenario)?.[figure];
    if (measured === undefined) return [];
    const isMinimum = figure === 'requests';
    return [
      goalRow(`${scenario}: ${names[figure]}`, measured, limit, { isMinimum, before: released[scenario]?.[figure] }),
    ];
  });
}

export function goalRow(
  name: string,
  measured: number,
  limit: number,
  { isMinimum = false, before }: { isMinimum?: boolean; before?: number | undefined } = {},
): string[] {
  const isReached = isMinimum ? measured >= limit : measured <= limit;
  const shownLimit = `${isMinimum ? '>=' : '<='} ${limit}`;
  return [name, measured.toFixed(2), before?.toFixed(2) ?? '', shownLimit, isReached ? 'reached' : 'missed'];
}
