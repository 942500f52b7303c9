import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { violationOf } from '../../test/helpers/contract-check.ts';

/** What the clients of the soak saw, all together. */
export interface Observations {
  /** How often a request was answered with what, such as 'POST /api/v1/ideas 201'. */
  answers: Map<string, number>;
  /** Answers outside the contract, and those that were not what they had to be. */
  faults: string[];
  /** How long each answer that was no refusal took. */
  latenciesMs: number[];
  repeated: number;
  replayed: number;
}

export function newObservations(): Observations {
  return { answers: new Map(), faults: [], latenciesMs: [], repeated: 0, replayed: 0 };
}

export interface ApiClient {
  /** The body of the answer with one of the statuses; undefined when there was another, which is a fault. */
  // biome-ignore lint/suspicious/noExplicitAny: the contract has been checked, and a caller knows what it asked for.
  send(line: string, json: unknown, ...statuses: number[]): Promise<{ status: number; body: any } | undefined>;
}

/** A client as a careful integrator writes it: under an Idempotency-Key it tries again until it knows. */
export function buildApiClient(baseUrl: string, token: string, seen: Observations): ApiClient {
  async function exchange(method: string, target: string, json: unknown, key: string) {
    const hasBody = json !== undefined;
    const startedAt = performance.now();
    const response = await fetch(baseUrl + target, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(method === 'POST' ? { 'idempotency-key': key } : {}),
        ...(hasBody ? { 'content-type': 'application/json' } : {}),
      },
      body: hasBody ? JSON.stringify(json) : null,
    });
    const text = await response.text();
    const path = target.split('?', 1)[0] as string;
    const answer = `${method} ${path.replace(/\/\d+/g, '/{id}')} ${response.status}`;
    // What the balancer says itself is no answer of a server, and counted by it.
    const problem = response.headers.has('x-balancer') ? undefined : violationOf(method, path, response.status, text);
    if (problem) seen.faults.push(`${answer}: ${problem}: ${text.slice(0, 300)}`);
    seen.answers.set(answer, (seen.answers.get(answer) ?? 0) + 1);
    if (response.status < 500) seen.latenciesMs.push(performance.now() - startedAt);
    if (response.headers.has('idempotency-replayed')) seen.replayed += 1;
    return { response, text, answer };
  }

  return {
    async send(line, json, ...statuses) {
      const [method = '', target = ''] = line.split(' ');
      const key = randomUUID();
      for (;;) {
        const { response, text, answer } = await exchange(method, target, json, key);
        const { status, headers } = response;
        if (statuses.includes(status)) return { status, body: JSON.parse(text) };
        const retryAfter = headers.get('retry-after');
        const isAway = status === 503 && retryAfter !== null;
        const isUnderWay = status === 409 && text.includes('idempotency_key_in_use');
        if (!isAway && !isUnderWay && !headers.has('x-balancer')) {
          seen.faults.push(`${answer} was not expected: ${text.slice(0, 300)}`);
          return undefined;
        }
        seen.repeated += 1;
        await delay(isAway ? Number(retryAfter) * 1000 : 200);
      }
    },
  };
}
