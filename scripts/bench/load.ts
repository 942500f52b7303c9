import autocannon from 'autocannon';
import { quantile } from 'simple-statistics';
import { answerCalls } from './answer-calls.ts';
import { makeRequests, type ScenarioName, type Targets } from './scenarios.ts';

/**
 * The number of requests to prepare for each connection and second. A faster connection would send the same requests
 * again, but no connection is that fast.
 */
const requestsPerConnectionSecond = 500;

export interface LoadOrder {
  baseUrl: string;
  scenario: ScenarioName;
  targets: Targets;
  seconds: number;
  connections: number;
}

export interface LoadResult {
  requestsPerSecond: number;
  requests: number;
  p50Ms: number;
  p99Ms: number;
  /** The number of answers other than 2xx, by HTTP status. Requests without an answer count as 'none'. */
  failures: Record<string, number>;
}

answerCalls(runLoad);

async function runLoad({ baseUrl, scenario, targets, seconds, connections }: LoadOrder): Promise<LoadResult> {
  // The types of autocannon do not say that the promise also emits events, so this code needs a type assertion.
  const run = autocannon({
    url: baseUrl,
    connections,
    duration: seconds,
    setupClient: client => client.setRequests(makeRequests(scenario, targets, requestsPerConnectionSecond * seconds)),
  }) as Promise<autocannon.Result> & autocannon.Instance;
  const startedAt = performance.now();
  let endedAt = startedAt;
  const durationsMs: number[] = [];
  const failures: Record<string, number> = {};
  // autocannon reports response times in whole milliseconds, which is too coarse for answers that take about 4 ms.
  run.on('response', (_client, status, _bytes, durationMs) => {
    endedAt = performance.now();
    durationsMs.push(durationMs);
    if (status < 200 || status > 299) failures[status] = (failures[status] ?? 0) + 1;
  });
  const { errors } = await run;
  if (errors > 0) failures.none = errors;
  return {
    requestsPerSecond: durationsMs.length / ((endedAt - startedAt) / 1000),
    requests: durationsMs.length,
    p50Ms: quantile(durationsMs, 0.5),
    p99Ms: quantile(durationsMs, 0.99),
    failures,
  };
}
