import { describe, expect, test } from 'vitest';
import { IdeaBoard, type IdeaBoardOptions, MemoryCache, signWebhook, verifyWebhook } from '../../client/main.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { startGatewayForTest } from './gateway.ts';

const server = await startServerForFile();
const { token } = await issueToken(server, await createWorld(server), 'write');

/** Invalid options of a client, each with the rule that its error message states. */
const invalidOptions: [name: string, value: unknown, rule: RegExp][] = [
  ['timeoutMs', Number.NaN, /must be a number of milliseconds above 0, but is NaN\.$/],
  ['timeoutMs', 0, /above 0, but is 0\.$/],
  ['timeoutMs', '30', /above 0\.$/],
  ['totalTimeoutMs', -1, /above 0, but is -1\.$/],
  ['maxRetries', Number.NaN, /must be a whole number, 0 or more, but is NaN\.$/],
  ['maxRetries', -1, /whole number, 0 or more, but is -1\.$/],
  ['maxRetries', 1.5, /whole number, 0 or more, but is 1\.5\.$/],
  ['maxRetryDelayMs', -1, /must be a number of milliseconds, 0 or more, but is -1\.$/],
  ['board', '', /must be the slug of a board\.$/],
  ['headers', 'X-Request-Id: 7', /must be an object of valid header names and values\.$/],
  ['headers', { 'X-Secret': 'a\nb' }, /header names and values\.$/],
  ['headers', { 'not a name': 'secret' }, /header names and values\.$/],
  ['hooks', { onRequest: 'log' }, /must be an object with the functions onRequest, onResponse, onRetry\.$/],
  ['hooks', { onError() {} }, /onRequest, onResponse, onRetry\.$/],
  ['fetch', 'node-fetch', /must be a function\.$/],
  ['fetchOptions', { redirect: 'follow' }, /must be an object without method, headers, body, signal, redirect\.$/],
  ['validate', true, /must be a function\.$/],
  ['cache', new Map().get, /must be true, false or an object with the functions get and set\.$/],
  ['logLevel', 'verbose', /must be one of off, error, warn, info, debug\.$/],
  ['logger', { log() {} }, /must be an object with the functions error, warn, info and debug\.$/],
  ['timeout', 1000, /"timeout" does not exist\. The options are baseUrl, token, .*timeoutMs/],
  ['baseURL', 'http://127.0.0.1', /"baseURL" does not exist\. The options are baseUrl/],
];

describe('invalid options', () => {
  test.each(invalidOptions)(
    'the constructor of the client throws a TypeError for the option %s with the value %o',
    (name, value, rule) => {
      const options = { baseUrl: server.baseUrl, token, [name]: value } as unknown as IdeaBoardOptions;
      expect(() => new IdeaBoard(options)).toThrow(TypeError);
      expect(() => new IdeaBoard(options)).toThrow(rule);
      expect(() => new IdeaBoard(options)).toThrow(`The option "${name}" `);
      const client = new IdeaBoard({ baseUrl: server.baseUrl, token });
      expect(() => client.withOptions({ [name]: value })).toThrow(rule);
    },
  );

  test('a call of the client with an invalid or unknown option rejects with a TypeError and sends no request', async () => {
    const gateway = await startGatewayForTest(server.baseUrl);
    const { ideas, board, token: own } = new IdeaBoard({ baseUrl: gateway.url, token });
    const input = { title: 'Never', body: 'Sent.' };
    const failing: [PromiseLike<unknown>, RegExp][] = [
      [board.get({ timeoutMs: Number.NaN }), /"timeoutMs" must be/],
      [board.get({ maxRetries: Number.NaN }), /"maxRetries" must be/],
      [ideas.list({}, { timeout: 5 } as never), /"timeout" does not exist/],
      [ideas.get(1, { idempotencyKey: 'once' } as never), /"idempotencyKey" does not exist/],
      [ideas.get(1, { etag: '' }), /"etag" must be the ETag of a response/],
      [ideas.create(input, { etag: 'W/"1"' } as never), /"etag" does not exist/],
      [ideas.get(1, { etag: 'W/"1"\n2' }), /"etag" must be the ETag of a response/],
      [ideas.create(input, { idempotencyKey: '' }), /"idempotencyKey" must be a text of 1 to 255 printable ASCII/],
      [ideas.create(input, { idempotencyKey: 'a b' }), /"idempotencyKey" must be/],
      [ideas.create(input, { idempotencyKey: '☾' }), /"idempotencyKey" must be/],
      [ideas.create(input, { idempotencyKey: 'k'.repeat(256) }), /"idempotencyKey" must be/],
      [
        board.get({ headers: { 'X-Secret': 'a\nb' } }),
        /"headers" must be an object of valid header names and values\.$/,
      ],
      [ideas.vote(1, { value: 'up' }, 'once' as never), /The options must be an object/],
      [own.get({ signal: 'stop' as never }), /"signal" must be an AbortSignal/],
      [ideas.list().toArray({} as never), /"limit" is missing/],
      [ideas.list().toArray({ limit: 0 }), /"limit" must be a whole number above 0, or Infinity, but is 0/],
    ];
    for (const [call, message] of failing) {
      const error = await Promise.resolve(call).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(TypeError);
      expect(String(error)).toMatch(message);
    }
    expect(gateway.requests).toEqual([]);
  });

  test("the client package's webhook functions and memory cache refuse invalid and unknown options", async () => {
    const secret = `whsec_${btoa('secret')}`;
    const tolerance = { toleranceSeconds: Number.NaN };
    await expect(verifyWebhook('{}', {}, secret, tolerance)).rejects.toThrow(/"toleranceSeconds" must be/);
    await expect(verifyWebhook('{}', {}, secret, { tolerance: 5 } as never)).rejects.toThrow(/"tolerance" does not/);
    await expect(signWebhook('{}', secret, { timestamp: new Date('soon') })).rejects.toThrow(/"timestamp" must be/);
    expect(() => new MemoryCache({ maxCharacters: Number.NaN })).toThrow(/"maxCharacters" must be/);
  });
});

describe('valid options', () => {
  test('an option of the client with the value undefined has its default value, and the value Infinity turns a timeout off', async () => {
    const names = [...new Set(invalidOptions.map(([name]) => name))].filter(
      name => !['timeout', 'baseURL'].includes(name),
    );
    const unset = Object.fromEntries(names.map(name => [name, undefined]));
    const client = new IdeaBoard({ baseUrl: server.baseUrl, token, ...unset });
    const forever = { timeoutMs: Number.POSITIVE_INFINITY, totalTimeoutMs: Number.POSITIVE_INFINITY, board: undefined };
    expect((await client.board.get(forever)).statuses).not.toEqual([]);
  });

  test.each(['/api/v1', '/api/v1/', '/', ''])('the option baseUrl of the client can end with "%s"', async end => {
    const client = new IdeaBoard({ baseUrl: `${server.baseUrl}${end}`, token });
    expect((await client.board.get()).statuses).not.toEqual([]);
  });
});
