import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { violationOf } from '../../test/helpers/contract-check.ts';

/** The answers that all clients have received. */
export interface Observations {
  /** The number of answers by request and status, such as 'POST /api/v1/ideas 201'. */
  answers: Map<string, number>;
  /** Descriptions of wrong answers and of answers that violate the contract. */
  faults: string[];
  /** The latency of each answer with a status below 500. */
  latenciesMs: number[];
  repeated: number;
  replayed: number;
}

export function newObservations(): Observations {
  return { answers: new Map(), faults: [], latenciesMs: [], repeated: 0, replayed: 0 };
}

export interface ApiClient {
  /**
   * Sends a request. Returns the answer if it has one of the expected statuses. Otherwise records a fault and returns
   * undefined.
   */
  // biome-ignore lint/suspicious/noExplicitAny: the answer was checked against the contract, and the caller knows its type.
  send(line: string, json: unknown, ...statuses: number[]): Promise<{ status: number; body: any } | undefined>;
}

/**
 * Builds a client that retries a request after three kinds of answers: 503 with Retry-After, idempotency_key_in_use,
 * and answers of the load balancer itself. Each retry has the same Idempotency-Key.
 */
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
    // Does not check the load balancer's own answers, which the contract does not describe.
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
