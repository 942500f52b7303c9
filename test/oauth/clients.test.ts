import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clearExpired } from '../../server/jobs/clear-expired.ts';
import { signedIn, Visitor } from '../admin/visitor.ts';
import { readAudit } from '../helpers/audit.ts';
import { testClock } from '../helpers/clock.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { type DocumentServer, serveDocument } from '../helpers/https-document.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { startReceiverForTest } from '../helpers/receiver.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest } from '../helpers/server.ts';
import { callback, callTool, Program, register } from './program.ts';

const server = closeAfterAll(
  await startPublicServer({
    environment: { RATE_LIMIT_OAUTH_CLIENT: '1000', WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8' },
  }),
);
const world = await createWorld(server);
const visitor = await signedIn(server, world.ownerId);

describe('an OAuth client that registers', () => {
  test('after the registration of an OAuth client, the server returns the stored metadata and writes an audit entry', async () => {
    server.auditLines.length = 0;
    const { status, body } = await register(server, {
      client_name: 'Editor',
      client_uri: 'https://editor.example',
      contacts: ['ada@example.com'],
      jwks_uri: 'https://editor.example/jwks',
      nonsense: { deep: [1] },
    });
    expect(status).toBe(201);
    expect(body).toEqual({
      client_id: expect.stringMatching(/^[\w-]{43}$/),
      client_id_issued_at: expect.any(Number),
      client_name: 'Editor',
      client_uri: 'https://editor.example',
      application_type: 'native',
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      redirect_uris: [callback],
      token_endpoint_auth_method: 'none',
      registration_client_uri: `${server.config.BASE_URL}/oauth/register/${body.client_id}`,
      registration_access_token: expect.stringMatching(/^ibg_[\w-]{43}$/),
    });
    expect(readAudit(server.auditLines)).toMatchObject([
      { event: 'oauth.client_registered', client_id: body.client_id, target: '127.0.0.1:33418' },
    ]);
    const read = await request(server, `GET ${new URL(body.registration_client_uri).pathname}`, {
      token: body.registration_access_token,
    });
    expect([read.status, read.body.client_name]).toEqual([200, 'Editor']);
    expect((await request(server, `GET /oauth/register/${body.client_id}`, { token: 'ibg_x' })).status).toBe(401);
  });

  test('when the server registers an OAuth client, it leaves out requested grant types, response types and scopes that the server does not support', async () => {
    const { status, body } = await register(server, {
      grant_types: ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'],
      response_types: ['code', 'code id_token'],
      scope: 'openid mcp',
    });
    expect([status, body.grant_types, body.response_types, body.scope]).toEqual([
      201,
      ['authorization_code', 'refresh_token'],
      ['code'],
      'mcp offline_access',
    ]);
  });

  test('the secret of an OAuth client is returned only at registration, and the database stores only its hash', async () => {
    const { body } = await register(server, { token_endpoint_auth_method: undefined });
    expect(body).toMatchObject({ token_endpoint_auth_method: 'client_secret_basic', client_secret_expires_at: 0 });
    const rows = await server.sql<{ text: string }>(
      `select payload::text as text from oauth_records where model = 'Client'`,
    );
    expect(rows.map(({ text }) => text).join()).not.toContain(body.client_secret);
    const read = await request(server, `GET ${new URL(body.registration_client_uri).pathname}`, {
      token: body.registration_access_token,
    });
    expect(read.body.client_secret).toBeUndefined();

    const program = new Program(server, body.client_id, body.client_secret);
    const tokens = await program.connect(visitor, { [world.boardId]: 'read' });
    expect((await callTool(server, tokens.access_token)).status).toBe(200);
    const stored = rows.map(({ text }) => JSON.parse(text)).find(({ client_id: id }) => id === body.client_id);
    for (const wrong of ['wrong', `${body.client_secret}x`, stored.client_secret]) {
      const answer = await new Program(server, body.client_id, wrong).refresh(tokens.refresh_token);
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client']);
    }
    const without = await new Program(server, body.client_id).refresh(tokens.refresh_token);
    expect([without.status, without.body.error]).toEqual([401, 'invalid_client']);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(200);
  });

  test.each([
    ['an HTTP redirect URI on another host', { redirect_uris: ['http://editor.example/cb'] }],
    [
      'an HTTP redirect URI on another host and the application type web',
      { redirect_uris: ['http://editor.example/cb'], application_type: 'web' },
    ],
    ['a redirect URI that is a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['a redirect URI with the scheme data', { redirect_uris: ['data:text/html,x'] }],
    ['a redirect URI with the scheme FTP', { redirect_uris: ['FTP://editor.example/cb'] }],
    ['a redirect URI with the scheme wss', { redirect_uris: ['wss://editor.example/cb'] }],
    ['a redirect URI with localhost as a subdomain', { redirect_uris: ['http://localhost.editor.example/cb'] }],
    ['a redirect URI with a dot after localhost', { redirect_uris: ['http://localhost./cb'] }],
    ['a redirect URI with the IP address 0.0.0.0', { redirect_uris: ['http://0.0.0.0/cb'] }],
    ['a redirect URI with a fragment', { redirect_uris: ['https://editor.example/cb#x'] }],
    ['a redirect URI with a user name and password', { redirect_uris: ['https://a:b@editor.example/cb'] }],
    ['a redirect URI with a line break', { redirect_uris: ['https://editor.example/\ncb'] }],
    ['no redirect URI', { redirect_uris: [] }],
    ['a string instead of a list of redirect URIs', { redirect_uris: 'https://editor.example/cb' }],
    ['too many redirect URIs', { redirect_uris: Array.from({ length: 11 }, (_, n) => `https://editor.example/${n}`) }],
    ['a name with a NUL character', { client_name: 'a\0b' }],
    ['a name with a lone surrogate', { client_name: 'a\ud800b' }],
    ['a name that is too long', { client_name: 'x'.repeat(9000) }],
    ['a name that is not a string', { client_name: { a: 1 } }],
    ['an unsupported authentication method', { token_endpoint_auth_method: 'private_key_jwt' }],
    ['an unsupported grant type', { grant_types: ['client_credentials'] }],
    ['an unsupported response type', { response_types: ['token'] }],
    ['an unknown scope', { scope: 'admin' }],
    ['a scope that is never granted', { scope: 'openid' }],
  ])('the registration of an OAuth client is refused if its metadata contains %s', async (_, metadata) => {
    const { status, body } = await register(server, metadata);
    expect([status, body.error]).toEqual([400, expect.stringMatching(/^invalid_(client_metadata|redirect_uri)$/)]);
    expect(Object.keys(body)).toEqual(['error', 'error_description']);
  });

  test('a registered OAuth client that no user has connected is deleted after a week, and a connected OAuth client stays', async () => {
    const unused = await Program.register(server);
    const used = await Program.register(server);
    await used.connect(visitor, { [world.boardId]: 'read' });
    await server.sql(
      `update oauth_records set expires_at = expires_at - interval '8 days'
      where model in ('Client', 'RegistrationAccessToken') and payload::text ~ $1`,
      [`${unused.clientId}|${used.clientId}`],
    );
    expect((await visitor.get(unused.authorizationPath())).status).toBe(400);
    await clearExpired(server.database, new AbortController().signal);
    const left = await server.sql<{ client: string }>(
      `select payload ->> 'client_id' as client from oauth_records where model = 'Client' and payload ->> 'client_id' = any ($1)`,
      [[unused.clientId, used.clientId]],
    );
    expect(left).toEqual([{ client: used.clientId }]);
    expect((await used.ask(visitor)).startsWith('/admin/connect/')).toBe(true);
  });
});

test('if one IP network exceeds the rate limit for OAuth client registrations, other IP networks can still register OAuth clients', async () => {
  const own = await startServerForTest({
    on: server,
    // Uses a clock that does not advance, so that the rate limit window of an hour does not end during the test.
    clock: testClock(),
    environment: { BASE_URL: server.config.BASE_URL, RATE_LIMIT_OAUTH_CLIENT: '2', TRUST_PROXY: 'true' },
  });
  const from = (address: string) =>
    request(own, 'POST /oauth/register', {
      json: { redirect_uris: [callback], token_endpoint_auth_method: 'none' },
      headers: { 'x-forwarded-for': address },
    });
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await from('2001:db8:1:2::1')).status);
  expect(statuses).toEqual([201, 201, 429]);
  const answer = await from('2001:db8:1:2:ffff::2');
  expect([answer.status, answer.body.error]).toEqual([429, 'temporarily_unavailable']);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await from('2001:db8:1:3::1')).status).toBe(201);
  expect(readAudit(own.auditLines).filter(({ event }) => event === 'rate_limit.exceeded')).toMatchObject([
    { bucket: 'oauth-client:ip', limit: 2 },
  ]);
});

describe('an OAuth client with a metadata document', () => {
  let documents: DocumentServer;

  beforeAll(async () => {
    documents = await serveDocument();
  });
  afterAll(() => documents.close());

  const documentOf = (clientId: string, more: object = {}) => ({
    client_id: clientId,
    client_name: 'A hosted program',
    redirect_uris: [callback],
    ...more,
  });
  const asked = async (program: Program) => {
    const { status, html } = await visitor.get(program.authorizationPath());
    return [status, /<code>([^<]*)/.exec(html)?.[1]?.split(':')[0]];
  };

  test("if an OAuth client's id is the URL of its metadata document, the client needs no registration, and the consent page names the URL's host", async () => {
    const clientId = `${documents.url}/client.json`;
    documents.serve(documentOf(clientId));
    const program = new Program(server, clientId);
    const page = await visitor.get(await program.ask(visitor));
    expect(page.html).toContain(`<bdi>${new URL(documents.url).host}</bdi>`);
    const tokens = await program.connect(visitor, { [world.boardId]: 'write' });
    expect((await callTool(server, tokens.access_token)).status).toBe(200);
    expect((await program.refresh(tokens.refresh_token)).status).toBe(200);
    // The server has fetched the metadata document only once, because it caches the document.
    expect(documents.requestCount()).toBe(1);
  });

  test('the metadata document of a client may list grant types and scopes that this server does not support', async () => {
    const clientId = `${documents.url}/of-all.json`;
    const grants = ['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code'];
    documents.serve(documentOf(clientId, { grant_types: grants, scope: 'openid profile', response_types: ['code'] }));
    const tokens = await new Program(server, clientId).connect(visitor, { [world.boardId]: 'read' });
    expect((await callTool(server, tokens.access_token)).status).toBe(200);
    expect(tokens.refresh_token).toBeTypeOf('string');
  });

  test("while a client's metadata document is unavailable, a token refresh gets 503 and does not invalidate the refresh token", async () => {
    const clientId = `${documents.url}/away.json`;
    documents.serve(documentOf(clientId));
    const program = new Program(server, clientId);
    const tokens = await program.connect(visitor, { [world.boardId]: 'read' });
    const page = await program.ask(visitor);
    // This server has not fetched the metadata document yet, like a server after a restart.
    const own = await startServerForTest({
      on: server,
      environment: {
        BASE_URL: server.config.BASE_URL,
        RATE_LIMIT_OAUTH_CLIENT: '1000',
        WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      },
    });
    documents.serve(500);
    const there = new Program({ ...server, baseUrl: own.baseUrl }, clientId);
    for (const answer of [await there.refresh(tokens.refresh_token), await there.revoke(tokens.refresh_token)]) {
      expect([answer.status, answer.body.error, answer.headers.get('retry-after')]).toEqual([
        503,
        'temporarily_unavailable',
        '30',
      ]);
    }
    const atOther = new Visitor(own);
    for (const [name, value] of visitor.cookies) atOther.cookies.set(name, value);
    expect((await atOther.get(page)).status).toBe(404);
    expect(own.logLines.filter(line => line.includes('a request failed'))).toEqual([]);
    documents.serve(documentOf(clientId));
    expect((await there.refresh(tokens.refresh_token)).status).toBe(200);
  });

  test.each([
    ['has the id of another client', { client_id: 'https://elsewhere.example/client.json' }],
    ['contains a client secret', { client_secret: 'x' }],
    ['asks for authentication with a client secret', { token_endpoint_auth_method: 'client_secret_basic' }],
    ['has a redirect URI that is a script', { redirect_uris: ['javascript:alert(1)'] }],
    ['has a redirect URI on another host without HTTPS', { redirect_uris: ['http://elsewhere.example/cb'] }],
    ['is too long', { client_name: 'x'.repeat(6000) }],
  ])('an OAuth client is refused if its metadata document %s', async (what, more) => {
    const clientId = `${documents.url}/${encodeURIComponent(what)}`;
    documents.serve(documentOf(clientId, more));
    const [status, error] = await asked(new Program(server, clientId));
    expect(status).toBeGreaterThanOrEqual(400);
    expect(error).toMatch(/^invalid_(client|client_metadata|redirect_uri)$/);
  });

  test('an OAuth client is refused if the URL of its metadata document returns an error, a redirect or no document', async () => {
    for (const status of [404, 302, 500, 204]) {
      documents.serve(status);
      expect(await asked(new Program(server, `${documents.url}/${status}`))).toEqual([400, 'invalid_client']);
    }
  });

  test("the URL of a client's metadata document cannot make the server send a request to itself or to an internal address", async () => {
    const own = await startServerForTest({
      on: server,
      environment: { BASE_URL: server.config.BASE_URL, RATE_LIMIT_OAUTH_CLIENT: '1000' },
    });
    const inside = await startReceiverForTest();
    const before = documents.requestCount();
    documents.serve(documentOf(`${documents.url}/inside`));
    for (const clientId of [
      `${documents.url}/inside`,
      documents.url.replace('127.0.0.1', 'localhost'),
      documents.url.replace('127.0.0.1', '[::ffff:127.0.0.1]'),
      'https://169.254.169.254/latest/meta-data',
      inside.url,
    ]) {
      const program = new Program({ ...server, baseUrl: own.baseUrl }, clientId);
      const answer = await fetch(own.baseUrl + program.authorizationPath(), { redirect: 'manual' });
      expect([clientId, answer.status]).toEqual([clientId, 400]);
      const text = await answer.text();
      expect(text).toContain('invalid_client');
      expect(text).not.toMatch(/ECONN|special|refused|public internet/);
    }
    expect(documents.requestCount()).toBe(before);
    expect(inside.received).toEqual([]);
  });

  test('a rate limit applies to requests that make the server fetch the metadata document of an OAuth client', async () => {
    const own = await startServerForTest({
      on: server,
      environment: {
        BASE_URL: server.config.BASE_URL,
        RATE_LIMIT_OAUTH_CLIENT: '0',
        WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
      },
    });
    const before = documents.requestCount();
    const program = new Program({ ...server, baseUrl: own.baseUrl }, `${documents.url}/limited`);
    const token = await program.refresh('ibr_x');
    expect([token.status, token.body.error]).toEqual([429, 'temporarily_unavailable']);
    expect(Number(token.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(documents.requestCount()).toBe(before);
  });
});

test('the rate limit of OAuth authorization requests from one IP network is ten times RATE_LIMIT_OAUTH_CLIENT', async () => {
  const program = await Program.register(server);
  const own = await startServerForTest({
    on: server,
    clock: testClock(),
    environment: { BASE_URL: server.config.BASE_URL, RATE_LIMIT_OAUTH_CLIENT: '1', TRUST_PROXY: 'true' },
  });
  const statuses = [];
  for (let n = 0; n < 11; n++) {
    const headers = { 'x-forwarded-for': '203.0.113.7' };
    statuses.push((await request(own, `GET ${program.authorizationPath()}`, { headers })).status);
  }
  expect(statuses).toEqual([...Array(10).fill(303), 429]);
});
