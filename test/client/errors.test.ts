import { describe, expect, expectTypeOf, test } from 'vitest';
import {
  AbortError,
  ApiError,
  ConnectionError,
  IdeaBoard,
  IdeaBoardError,
  InvalidRequestError,
  isIdeaBoardError,
  type Tag,
  TimeoutError,
  UnexpectedAnswerError,
} from '../../client/main.ts';
import { errors } from '../../contract/errors.ts';
import { validateRequest } from '../../contract/validation.ts';
import { testClock } from '../helpers/clock.ts';
import { createTag, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { startGatewayForTest } from './gateway.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'write');
const client = new IdeaBoard({ baseUrl: server.baseUrl, token });

async function errorOf(call: PromiseLike<unknown>): Promise<IdeaBoardError> {
  try {
    await call;
  } catch (error) {
    if (isIdeaBoardError(error)) return error;
    throw error;
  }
  throw new Error('The call did not fail');
}

/**
 * Returns a client without retries. The client's requests go through a gateway, which simulates one of the given faults
 * for each of the first requests.
 */
async function clientBehindGateway(...faults: Parameters<Awaited<ReturnType<typeof startGatewayForTest>>['plan']>) {
  const gateway = await startGatewayForTest(server.baseUrl);
  gateway.plan(...faults);
  return new IdeaBoard({ baseUrl: gateway.url, token, maxRetries: 0 });
}

describe('errors of the API', () => {
  test("the client's error contains the response's error key, HTTP status, message, request id and rate limit, and the name of the operation", async () => {
    const error = await errorOf(client.ideas.get(999_999_999, { headers: { 'x-request-id': 'which-one' } }));
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toBeInstanceOf(IdeaBoardError);
    expect(error).toMatchObject({
      name: 'ApiError',
      key: 'not_found',
      status: 404,
      message: `getIdea failed with 404 not_found: ${errors.not_found.meaning} Request id: which-one.`,
      serverMessage: errors.not_found.meaning,
      operation: 'getIdea',
      requestId: 'which-one',
      issues: [],
      attempts: 1,
      rateLimit: { bucket: 'apitoken:read', limit: 1_000_000 },
    });
  });

  test('an error of the client has the details from the response, and their TypeScript type depends on the operation and the error key', async () => {
    const moderator = await issueToken(server, world, 'moderate');
    const ideaId = await insertIdea(server, world);
    const tagId = await createTag(server, world.accountId, world.boardId, 'Reports');
    const moderating = new IdeaBoard({ baseUrl: server.baseUrl, token: moderator.token });
    const error = await errorOf(moderating.ideas.addTag(ideaId, { tag_id: 999_999_999 }));
    if (!isIdeaBoardError(error, 'addIdeaTag') || error.key !== 'invalid_tag') throw error;
    expectTypeOf(error.details).toEqualTypeOf<{ tags: Tag[] } | undefined>();
    expect(error.details).toEqual({ tags: [{ id: tagId, name: 'Reports', color: '#0f766e' }] });

    const refused = await errorOf(client.ideas.setStatus(ideaId, { status: 'planned' }));
    if (!isIdeaBoardError(refused, 'setIdeaStatus') || refused.key !== 'insufficient_scope') throw refused;
    expect(refused.details).toEqual({ board: world.boardSlug, needed: 'moderate', held: 'write' });
    const missing = await errorOf(client.ideas.get(999_999_999));
    expect(missing).toMatchObject({ key: 'not_found', details: undefined });
  });

  test("if the server rejects an invalid field, the client's error lists the issue with its path, code and message", async () => {
    const error = await errorOf(client.ideas.create({ title: ' ', body: 'Nothing above.' }));
    expect(error).toMatchObject({ key: 'validation_failed', status: 422 });
    expect(error.issues).toEqual([{ path: ['body', 'title'], code: 'custom', message: 'Must not be empty' }]);
  });

  test('the message of an API error is one line with the operation, status, key, invalid fields and request id', async () => {
    const invalid = { title: ' ', body: '' };
    const error = await errorOf(client.ideas.create(invalid, { headers: { 'x-request-id': 'release-42' } }));
    expect(error.message).toBe(
      'createIdea failed with 422 validation_failed: ' +
        `${errors.validation_failed.meaning} body.title: Must not be empty; body.body: Must not be empty. Request id: release-42.`,
    );
    const issues = Array.from({ length: 7 }, (_, n) => ({ path: ['body', n], code: 'wrong', message: 'Is\nwrong' }));
    const body = { error: { key: 'validation_failed', message: 'Two\n  lines', issues } };
    const long = await errorOf((await clientBehindGateway({ status: 422, body })).board.get());
    const fields = [0, 1, 2, 3, 4].map(n => `body.${n}: Is wrong; `).join('');
    expect(long.message).toBe(`getBoard failed with 422 validation_failed: Two lines. ${fields}and 2 more.`);
  });

  test("the client's error for an exceeded rate limit contains the rate limit and the time until a retry is allowed", async () => {
    const limited = await startServerForTest({ clock: testClock(), environment: { RATE_LIMIT_READ: '1' } });
    const one = await issueToken(limited, await createWorld(limited), 'read');
    const impatient = new IdeaBoard({ baseUrl: limited.baseUrl, token: one.token, maxRetries: 0 });
    await impatient.board.get();
    const error = await errorOf(impatient.board.get());
    expect(error).toMatchObject({ key: 'rate_limited', status: 429, rateLimit: { limit: 1, remaining: 0 } });
    expect(error.retryAfterMs).toBe((error.rateLimit?.resetSeconds ?? 0) * 1000);
  });

  test('isIdeaBoardError() recognizes errors of the client and their operation, even if another copy of the client package created the error', async () => {
    const error: unknown = await errorOf(client.ideas.get(999_999_999));
    expect(isIdeaBoardError(error, 'getIdea')).toBe(true);
    expect(isIdeaBoardError(error, 'createIdea')).toBe(false);
    expect([new Error('not_found'), 'not_found', null, { key: 'not_found' }].map(one => isIdeaBoardError(one))).toEqual(
      [false, false, false, false],
    );
    const anotherCopy = '../../client/errors.ts?another-copy';
    const copy = (await import(/* @vite-ignore */ anotherCopy)) as typeof import('../../client/errors.ts');
    expect(copy.ApiError).not.toBe(ApiError);
    expect(copy.isIdeaBoardError(error, 'getIdea')).toBe(true);
  });
});

describe('calls without a response of the API', () => {
  test('the client throws UnexpectedAnswerError for a response that does not have the format of the API', async () => {
    const busy = await clientBehindGateway({
      status: 500,
      headers: { 'x-request-id': 'p1' },
      body: '<h1>Bad day</h1>',
    });
    const error = await errorOf(busy.board.get());
    expect(error).toBeInstanceOf(UnexpectedAnswerError);
    expect(error).toMatchObject({ key: 'unexpected_answer', status: 500, requestId: 'p1', text: '<h1>Bad day</h1>' });
    const signIn = await clientBehindGateway({ status: 200, body: '<!doctype html><title>Sign in</title>' });
    expect(await errorOf(signIn.board.get())).toMatchObject({ key: 'unexpected_answer', status: 200 });
    const halfJson = await clientBehindGateway({ status: 404, body: { error: 'not here' } });
    expect(await errorOf(halfJson.board.get())).toMatchObject({ key: 'unexpected_answer', status: 404 });
  });

  test('the client does not follow redirects, because a POST would become a GET', async () => {
    const elsewhere = await startGatewayForTest(server.baseUrl);
    const moved = await clientBehindGateway({ status: 301, headers: { location: `${elsewhere.url}/api/v1/ideas` } });
    const error = await errorOf(moved.ideas.create({ title: 'Moved', body: 'Or not.' }));
    expect(error).toMatchObject({ key: 'unexpected_answer', status: 301 });
    expect(error.message).toBe(
      `The server redirects to ${elsewhere.url}/api/v1/ideas. Set baseUrl to the final address.`,
    );
    expect(elsewhere.requests).toEqual([]);
  });

  test.each(['break', 'break off'] as const)(
    'the client throws ConnectionError if the connection breaks before or during the response (simulated fault: %s)',
    async fault => {
      const error = await errorOf((await clientBehindGateway(fault)).board.get());
      expect(error).toBeInstanceOf(ConnectionError);
      expect(error).toMatchObject({ key: 'connection_failed', status: undefined, operation: 'getBoard', attempts: 1 });
      expect(error.message).toMatch(/^http:\/\/127\.0\.0\.1:\d+ cannot be reached: .+/);
      expect(error.cause).toBeInstanceOf(Error);
    },
  );

  test('the client throws TimeoutError if no response arrives within the timeout', async () => {
    const error = await errorOf((await clientBehindGateway('hang')).board.get({ timeoutMs: 20 }));
    expect(error).toBeInstanceOf(TimeoutError);
    expect(error).toMatchObject({ name: 'TimeoutError', key: 'timed_out', message: 'No answer within 20 ms' });
    const deaf = new IdeaBoard({ baseUrl: server.baseUrl, token, maxRetries: 0, fetch: () => new Promise(() => {}) });
    expect(await errorOf(deaf.board.get({ timeoutMs: 20 }))).toMatchObject({ key: 'timed_out' });
  });

  test('an abort signal stops a client call that waits for the response, and an already aborted signal prevents the request', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const aborting = new IdeaBoard({ baseUrl: gateway.url, token });
    const controller = new AbortController();
    gateway.plan('hang');
    const call = aborting.board.get({ signal: controller.signal });
    const failure = errorOf(call);
    await gateway.waitForRequests(1);
    controller.abort('The user left');
    expect(await failure).toBeInstanceOf(AbortError);
    expect(await failure).toMatchObject({ name: 'AbortError', key: 'aborted', cause: 'The user left', attempts: 1 });
    const late = await errorOf(aborting.board.get({ signal: controller.signal }));
    expect(late).toMatchObject({ key: 'aborted', attempts: 0 });
    expect(gateway.requests).toHaveLength(1);
  });
});

describe('invalid requests', () => {
  test.each([Number.NaN, -1, -5n, 1.5, '..', '', '1/vote', undefined])(
    'the client rejects the invalid idea id %s and sends no request',
    async id => {
      const gateway = await startGatewayForTest(server.baseUrl);
      const careful = new IdeaBoard({ baseUrl: gateway.url, token });
      const error = await errorOf(careful.ideas.vote(id as number, { value: 'up' }));
      expect(error).toBeInstanceOf(InvalidRequestError);
      expect(error).toMatchObject({
        key: 'invalid_request',
        operation: 'voteIdea',
        issues: [{ path: ['params', 'id'] }],
      });
      expect(gateway.requests).toEqual([]);
    },
  );

  test('the client rejects a body that cannot be JSON before it sends a request', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const careful = new IdeaBoard({ baseUrl: gateway.url, token });
    const circle: { title: string; body: unknown } = { title: 'Round', body: 'And round.' };
    circle.body = circle;
    const { key, issues } = await errorOf(careful.ideas.create(circle as never));
    expect([key, ...issues.flatMap(({ path }) => path)]).toEqual(['invalid_request', 'body']);
    expect(gateway.requests).toEqual([]);
  });

  test('a client with the option `validate` rejects an invalid request before the client sends the request, and reports the same issues as the server', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const [validating, trusting] = [validateRequest, undefined].map(
      validate => new IdeaBoard({ baseUrl: gateway.url, token, validate }),
    );
    const calls = (one: IdeaBoard | undefined) => [
      one?.ideas.create({ title: '', body: 'x'.repeat(10_001), colour: 'red' } as never),
      one?.ideas.list({ per_page: 101, page: 1, cursor: 'there' }),
      one?.ideas.comment(1, undefined as never),
    ];
    for (const call of calls(validating)) {
      const { key, issues } = await errorOf(call as PromiseLike<unknown>);
      expect(key).toBe('invalid_request');
      expect(gateway.requests).toEqual([]);
      expect(issues.length).toBeGreaterThan(0);
    }
    const refusals = await Promise.all(calls(validating).map(call => errorOf(call as PromiseLike<unknown>)));
    const answers = await Promise.all(calls(trusting).map(call => errorOf(call as PromiseLike<unknown>)));
    for (const n of [0, 1]) expect(refusals[n]?.issues).toEqual(answers[n]?.issues);
    expect(refusals[0]?.message).toMatch(/^Nothing was sent\. body\.title: Must not be empty; /);

    const id = await insertIdea(server, world);
    expect(await validating?.ideas.vote(id, { value: 'up' })).toMatchObject({ my_vote: 'up' });
    expect((await validating?.ideas.list({ per_page: 1, sort: 'top' }))?.data).toHaveLength(1);
  });
});
