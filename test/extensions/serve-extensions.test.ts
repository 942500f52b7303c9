import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { buildApp } from '../../server/app.ts';
import { DomainError, type Extension } from '../../server/extensions/extension.ts';
import { serveExtensions } from '../../server/extensions/serve-extensions.ts';
import { testClock } from '../helpers/clock.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile, startServerForTest } from '../helpers/server.ts';
import { extensionOf } from './with-extensions.ts';

const echo = extensionOf({
  name: 'echo',
  settings: z.object({}),
  register(app, context) {
    app.addHook('onRequest', async (_request, reply) => {
      reply.header('x-echo', '1');
    });
    app.removeAllContentTypeParsers();
    app.addContentTypeParser('*', { parseAs: 'buffer', bodyLimit: 16 }, (_request, body, done) => done(null, body));
    app.get('/', async () => ({ hello: 'world' }));
    app.post('/bytes', async ({ body }) => (body as Buffer).toString('hex'));
    app.get('/fails', async () => {
      throw new Error('the password is hunter2');
    });
    app.get('/refuses', async () => {
      throw new DomainError('board_frozen');
    });
    app.get('/api/v1/board', async () => ({ mine: true }));
    app.get('/logs', async ({ log }) => {
      log.info('from a request');
      context.logger.info('from the context');
      return {};
    });
  },
});

const checked = extensionOf({
  name: 'checked',
  async register(app) {
    const body = { type: 'object', required: ['n'], properties: { n: { type: 'integer' } } };
    app.post('/', { schema: { body } }, async request => request.body);
  },
});

const server = await startServerForFile({ dependencies: { extensions: [echo, checked] } });

describe('the routes of an extension', () => {
  test("the routes of an extension start with /ext/ and the extension's name, and need no token of the Agent API", async () => {
    const answer = await request(server, 'GET /ext/echo/', { token: 'nonsense' });
    expect(answer).toMatchObject({ status: 200, body: { hello: 'world' } });
    expect(answer.headers.get('x-request-id')).toBeTruthy();
    expect(answer.headers.get('x-echo')).toBe('1');
  });

  test('the routes and hooks of an extension cannot replace or affect the routes of the server', async () => {
    const { token } = await issueToken(server, await createWorld(server), 'write');
    expect((await request(server, 'GET /ext/echo/api/v1/board')).body).toEqual({ mine: true });
    const board = await request(server, 'GET /api/v1/board', { token });
    expect(board.body.board.slug).toBeTruthy();
    expect(board.headers.get('x-echo')).toBeNull();
    const json = { title: 'Read as JSON', body: 'Longer than the extension allows for its own routes.' };
    expect((await request(server, 'POST /api/v1/ideas', { token, json })).status).toBe(201);
    expect((await request(server, 'POST /ext/checked/', { json: { n: 1 } })).body).toEqual({ n: 1 });
  });

  test('an extension route can read the raw body of a request with any content type, and can limit the size of the body', async () => {
    const post = (raw: Uint8Array) =>
      request(server, 'POST /ext/echo/bytes', {
        raw: raw as unknown as string,
        headers: { 'content-type': 'text/strange' },
      });
    expect((await post(Uint8Array.of(0xff, 0, 0x20))).text).toBe('ff0020');
    expect(await post(new Uint8Array(17))).toMatchObject({ status: 413, key: 'payload_too_large' });
  });

  test('an extension route returns errors in the format of the API without internal details', async () => {
    const failed = await request(server, 'GET /ext/echo/fails');
    expect(failed).toMatchObject({ status: 500, key: 'internal_error' });
    expect(failed.text).not.toContain('hunter2');
    expect(await request(server, 'GET /ext/echo/refuses')).toMatchObject({ status: 423, key: 'board_frozen' });
    expect(await request(server, 'GET /ext/echo/nothing')).toMatchObject({ status: 404, key: 'not_found' });
    expect(await request(server, 'GET /ext/nobody/')).toMatchObject({ status: 404, key: 'not_found' });
    const other = await request(server, 'DELETE /ext/echo/bytes');
    expect(other).toMatchObject({ status: 405, key: 'method_not_allowed' });
    expect(other.headers.get('allow')).toBe('POST');
    const invalid = await request(server, 'POST /ext/checked/', { json: { n: 'x' } });
    expect(invalid).toMatchObject({ status: 422, key: 'validation_failed' });
    expect(invalid.body.error.issues).toMatchObject([{ path: ['body', 'n'], code: 'type' }]);
  });

  test("requests to an extension route count against the rate limit of the client's IP address", async () => {
    const impatient = await startServerForTest({
      clock: testClock(),
      environment: { RATE_LIMIT_IP: '2' },
      dependencies: { extensions: [echo] },
    });
    const statuses = [];
    for (let n = 0; n < 3; n++) statuses.push((await request(impatient, 'GET /ext/echo/')).status);
    expect(statuses).toEqual([200, 200, 429]);
  });

  test('the log lines of an extension route name the extension, and the OpenAPI document does not contain the route', async () => {
    server.logLines.length = 0;
    await request(server, 'GET /ext/echo/logs');
    const own = server.logLines.map(line => JSON.parse(line)).filter(({ msg }) => msg?.startsWith('from '));
    expect(own).toMatchObject([{ extension: 'echo' }, { extension: 'echo' }]);
    expect((await request(server, 'GET /api/v1/openapi.json')).text).not.toContain('/ext/');
  });
});

describe('an extension that cannot be registered', () => {
  const registering = (register: NonNullable<Extension['register']>) => extensionOf({ name: 'broken', register });
  const start = (extension: Extension) => buildApp({ ...server.dependencies, extensions: [echo, extension] });

  test.each([
    ['rejects its promise', async () => Promise.reject(new Error('no such form\nat all')), 'no such form'],
    [
      'adds a route twice',
      (app => {
        app.get('/twice', async () => ({}));
        app.get('/twice', async () => ({}));
      }) as NonNullable<Extension['register']>,
      "Method 'GET' already declared for route '/ext/broken/twice'",
    ],
    [
      'contains a plugin that rejects its promise',
      (app => {
        app.register(async () => Promise.reject(new Error('the part is missing')));
      }) as NonNullable<Extension['register']>,
      'the part is missing',
    ],
  ])(
    'the server does not start if the registration of an extension %s, and the error names the extension',
    async (_, register, reason) => {
      await expect(start(registering(register))).rejects.toThrow(
        `The extension broken cannot be registered: ${reason}`,
      );
    },
  );

  test('the server does not start if the registration of an extension never ends', async () => {
    const app = await buildApp({ ...server.dependencies, extensions: [] });
    const hanging = registering(() => new Promise<void>(() => {}));
    await expect(serveExtensions(app, { ...server.dependencies, extensions: [hanging] }, 50)).rejects.toThrow(
      'The extension broken cannot be registered: register() has not ended after 0.05 s',
    );
  });
});
