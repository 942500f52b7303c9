import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Caller } from '../../client/caller.ts';
import { type OperationId, routes } from '../../client/contract.ts';
import { Ideas } from '../../client/ideas.ts';
import {
  ApiError,
  ConnectionError,
  IdeaBoard,
  type IdeaBoardError,
  type IdeaBoardOptions,
  TimeoutError,
} from '../../client/main.ts';
import { defaultLimits } from '../../client/options.ts';
import { knownOperation, prepareRequest, unknownOperation } from '../../client/request.ts';
import { RetryBudget, retryDelayMs } from '../../client/retry.ts';
import { createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { startServerForFile } from '../helpers/server.ts';
import { startGateway } from './gateway.ts';

let world: World;
let token: string;

/** The waits before the retries, in milliseconds. The simulated clock advances only during these waits. */
let waits: number[];
let now: number;

const server = await startServerForFile();
const gateway = closeAfterAll(await startGateway(server.baseUrl));
beforeEach(async () => {
  world = await createWorld(server);
  ({ token } = await issueToken(server, world, 'moderate'));
  gateway.requests.length = 0;
  waits = [];
  now = 0;
});

/** Returns the client's methods for ideas, with a simulated clock and a fixed random number. */
function ideasOf({ chance = 0, ...options }: Partial<IdeaBoardOptions> & { chance?: number } = {}): Ideas {
  const caller = new Caller(
    { baseUrl: gateway.url, token, ...options },
    {
      now: () => now,
      random: () => chance,
      sleep: async milliseconds => {
        waits.push(milliseconds);
        now += milliseconds;
      },
    },
  );
  return new Ideas(caller);
}

const operationIds = Object.keys(routes) as OperationId[];
const away = { status: 503, body: { error: { key: 'service_unavailable', message: 'Away.' } } };
const limited = (retryAfter: string, headers: Record<string, string> = {}) => ({
  status: 429,
  headers: { 'retry-after': retryAfter, ...headers },
  body: { error: { key: 'rate_limited', message: 'Slowly.' } },
});
const inUse = { status: 409, body: { error: { key: 'idempotency_key_in_use', message: 'Running.' } } };
const idea = { title: 'Once', body: 'And never twice.' };

async function ideaCount(): Promise<number> {
  const [row] = await server.sql<{ count: number }>('select count(*)::int from ideas where board_id = $1', [
    world.boardId,
  ]);
  return row?.count ?? -1;
}

describe('retried requests', () => {
  test('the client retries a read after a 503 response, a broken connection and a 502 response', async () => {
    gateway.plan(away, 'break', { status: 502, body: 'Bad gateway' });
    expect((await ideasOf().list().withResponse()).attempts).toBe(4);
    expect(waits).toEqual([250, 500, 1000]);
  });

  test('the client retries a failed write with the same idempotency key, and the write takes effect once', async () => {
    gateway.plan('lose the answer', away);
    const { data, isReplay, attempts } = await ideasOf().create(idea).withResponse();
    expect({ title: data.title, isReplay, attempts }).toEqual({ title: 'Once', isReplay: true, attempts: 3 });
    expect(await ideaCount()).toBe(1);
    const keys = gateway.requests.map(({ headers }) => headers['idempotency-key']);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  });

  test('the client retries a read and a write with an idempotency key after an internal error, and the write takes effect once', async () => {
    const internal = { status: 500, body: { error: { key: 'internal_error', message: 'Oh.' } } };
    gateway.plan(internal, internal);
    expect((await ideasOf().list().withResponse()).attempts).toBe(3);
    gateway.plan('lose the answer', internal);
    expect(await ideasOf().create(idea).withResponse()).toMatchObject({ attempts: 3, isReplay: true });
    expect(await ideaCount()).toBe(1);
  });

  test('the client retries a write that timed out, and the write takes effect once', async () => {
    gateway.plan('hang');
    // Between retries, this client waits in real time, so that the server has time to finish the first request.
    const impatient = new Ideas(new Caller({ baseUrl: gateway.url, token, timeoutMs: 200, maxRetries: 10 }));
    const created = await impatient.create(idea).withResponse();
    expect(created.attempts).toBeGreaterThan(1);
    expect(await ideaCount()).toBe(1);
  });

  test('the client retries a write if the server answers that the first request of the write is still running', async () => {
    gateway.plan(inUse, inUse);
    expect((await ideasOf().create(idea).withResponse()).attempts).toBe(3);
    expect(waits).toEqual([250, 500]);
  });

  test('the client retries a DELETE request although the request has no idempotency key', async () => {
    const id = await insertIdea(server, world);
    gateway.plan('lose the answer');
    expect((await ideasOf().removeTag(id, 1).withResponse()).attempts).toBe(2);
    expect(gateway.requests.map(({ headers }) => headers['idempotency-key'])).toEqual([undefined, undefined]);
  });

  test('the client retries an edit after a lost connection and a 503 response, and the edit succeeds once even with if_updated_at', async () => {
    const id = await insertIdea(server, world);
    const { id: commentId, updated_at } = await ideasOf().comment(id, { body: 'First.' });
    const edit = { title: 'Edited', if_updated_at: (await ideasOf().get(id)).updated_at };
    gateway.plan('lose the answer', away);
    expect(await ideasOf().edit(id, edit).withResponse()).toMatchObject({ data: { title: 'Edited' }, attempts: 3 });
    gateway.plan('lose the answer');
    const editComment = { body: 'Second.', if_updated_at: updated_at };
    expect((await ideasOf().editComment(id, commentId, editComment).withResponse()).attempts).toBe(2);
    const events = await server.sql("select type from events where idea_id = $1 and type like '%updated'", [id]);
    expect(events.map(({ type }) => type).sort()).toEqual(['comment.updated', 'idea.updated']);
  });

  test('the client creates a new idempotency key for each call of ideas.create() unless the caller provides a key', async () => {
    const ideas = ideasOf();
    const first = await ideas.create(idea);
    const second = await ideas.create(idea);
    expect(second.id).not.toBe(first.id);
    const mine = { idempotencyKey: 'import-7' };
    const third = await ideas.create(idea, mine);
    expect(await ideas.create(idea, mine).withResponse()).toMatchObject({ data: { id: third.id }, isReplay: true });
    expect(await ideaCount()).toBe(3);
  });
});

test('every method of the client that sends a POST request sends an idempotency key with it', () => {
  const posts = operationIds.filter(id => routes[id].method === 'POST');
  expect(posts).toContain('createIdea');
  const keys = posts.map(id => prepareRequest(knownOperation(id), {}, { baseUrl: '', token }, {}).idempotencyKey);
  expect(keys).toEqual(posts.map(() => expect.stringMatching(/^[0-9a-f]{32}$/)));
});

test('the client can repeat every request of its methods, but not a PATCH request of client.request()', () => {
  const repeatable = operationIds.map(
    id => prepareRequest(knownOperation(id), {}, { baseUrl: '', token }, {}).isRepeatable,
  );
  expect(new Set(repeatable)).toEqual(new Set([true]));
  const edit = unknownOperation({ method: 'PATCH', path: '/api/v1/reactions/7' });
  expect(prepareRequest(edit, {}, { baseUrl: '', token }, {}).isRepeatable).toBe(false);
});

describe('retry delays', () => {
  test('before a retry, the client waits for the time in Retry-After, in seconds or as a date, plus random jitter', async () => {
    gateway.plan(limited('7'), limited('Fri, 01 May 2026 08:00:40 GMT', { date: 'Fri, 01 May 2026 08:00:00 GMT' }));
    await ideasOf().list();
    gateway.plan(limited('7'));
    await ideasOf({ chance: 0.5 }).list();
    expect(waits).toEqual([7000, 40_000, 7500]);
  });

  test('if Retry-After exceeds the maximum delay, the client throws an error with the requested delay and does not wait', async () => {
    gateway.plan(limited('61', { 'x-ratelimit-limit': '20', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '61' }));
    await expect(ideasOf().create(idea)).rejects.toMatchObject({
      key: 'rate_limited',
      retryAfterMs: 61_000,
      rateLimit: { limit: 20, remaining: 0, resetSeconds: 61 },
    });
    gateway.plan(limited('60'));
    await ideasOf().list();
    expect(waits.splice(0)).toEqual([60_000]);
    gateway.plan(limited('2'));
    await expect(ideasOf({ maxRetryDelayMs: 1000 }).create(idea)).rejects.toMatchObject({ key: 'rate_limited' });
    expect(waits).toEqual([]);
  });

  test('without Retry-After, the client doubles the retry delay up to 8 seconds, and half of each delay is random', async () => {
    const reads = ideasOf({ chance: 1, maxRetries: 7 });
    gateway.plan(away, away, away, away, away, away, away);
    await reads.list();
    expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000]);
  });

  test('the client ends a call at its total timeout and does not wait for a retry that would exceed this timeout', async () => {
    gateway.plan(away, away);
    await expect(ideasOf({ totalTimeoutMs: 700 }).list()).rejects.toMatchObject({ key: 'service_unavailable' });
    expect(waits).toEqual([250]);
    gateway.plan('hang');
    const error = await ideasOf({ totalTimeoutMs: 30 })
      .list()
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TimeoutError);
  });
});

describe('default timeouts', () => {
  test('the default timeout of the client is 30 seconds for a request, and two minutes for a call including its retries', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const startedAt = performance.now();
    const timeouts: number[] = [];
    const client = new IdeaBoard({
      baseUrl: server.baseUrl,
      token,
      fetch: () => new Promise(() => {}),
      hooks: {
        onRetry: ({ error }) => timeouts.push(error instanceof TimeoutError ? performance.now() - startedAt : 0),
      },
    });
    const failed = client.board.get().catch((error: unknown) => ({ error, afterMs: performance.now() - startedAt }));
    await vi.runAllTimersAsync();
    expect(await failed).toMatchObject({ error: { key: 'timed_out', attempts: 4 }, afterMs: 120_000 });
    expect(timeouts).toHaveLength(3);
    expect(timeouts[0]).toBe(30_000);
  });
});

describe('requests without a retry', () => {
  test('after a lost connection, the client does not retry a POST request that is not safe to repeat', () => {
    const delayOf = (error: IdeaBoardError, isRepeatable: boolean) =>
      retryDelayMs(error, {
        request: { ...prepareRequest(knownOperation('createIdea'), {}, { baseUrl: '', token }, {}), isRepeatable },
        limits: defaultLimits,
        budget: new RetryBudget(),
        leftMs: 60_000,
        random: () => 0,
      });
    const details = { operation: 'createIdea', message: '', attempts: 1 } as const;
    const lost = new ConnectionError(details);
    const refused = new ApiError({ ...details, key: 'rate_limited', status: 429, retryAfterMs: 1000 });
    expect([delayOf(lost, true), delayOf(lost, false)]).toEqual([250, undefined]);
    expect(delayOf(refused, false)).toBe(1000);
  });

  test('the client does not retry a call after the error not_found', async () => {
    gateway.plan({ status: 404, body: { error: { key: 'not_found', message: 'No.' } } });
    await expect(ideasOf().get(1)).rejects.toMatchObject({ key: 'not_found', attempts: 1, isRetryBudgetSpent: false });
    expect(waits).toEqual([]);
  });

  test('the client stops retrying after the maximum number of retries', async () => {
    gateway.plan(away, away, away, away);
    await expect(ideasOf().list()).rejects.toMatchObject({ key: 'service_unavailable', attempts: 4 });
    gateway.plan(away);
    await expect(ideasOf({ maxRetries: 5 }).get(1, { maxRetries: 0 })).rejects.toMatchObject({ attempts: 1 });
  });

  test('the client does not retry a call that is aborted during the wait for the retry', async () => {
    gateway.plan(limited('30'));
    const controller = new AbortController();
    const caller = new Caller({
      baseUrl: gateway.url,
      token,
      hooks: { onRetry: () => queueMicrotask(() => controller.abort()) },
    });
    const call = new Ideas(caller).list({}, { signal: controller.signal });
    await expect(call).rejects.toMatchObject({ key: 'aborted', attempts: 1 });
    expect(gateway.requests).toHaveLength(1);
  });

  test('the retry budget of a client allows ten retries, and ten successful calls add one more retry', async () => {
    const ideas = ideasOf();
    const fail = async (failures: number) => {
      gateway.plan(...Array<typeof away>(failures).fill(away));
      return ideas.list().then(
        () => 'answered',
        () => 'failed',
      );
    };
    for (const failures of [4, 4, 4]) expect(await fail(failures)).toBe('failed');
    expect(waits).toHaveLength(9);
    expect(await fail(1)).toBe('answered');
    expect(waits).toHaveLength(10);
    gateway.plan(away);
    await expect(ideas.list()).rejects.toMatchObject({ key: 'service_unavailable', isRetryBudgetSpent: true });
    for (let n = 0; n < 9; n += 1) await ideas.list();
    expect(await fail(1)).toBe('answered');
  });

  test('retries after the response 429 do not count against the retry budget', async () => {
    gateway.plan(...Array<ReturnType<typeof limited>>(12).fill(limited('1')));
    await ideasOf({ maxRetries: 12 }).list();
    expect(waits).toHaveLength(12);
  });
});
