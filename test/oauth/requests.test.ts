import { describe, expect, test } from 'vitest';
import { loadConfig } from '../../server/config.ts';
import { buildMetrics } from '../../server/observability/metrics.ts';
import { signedIn } from '../admin/visitor.ts';
import { createWorld } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { request } from '../helpers/request.ts';
import { startServerForTest } from '../helpers/server.ts';
import { callback, callTool, Program } from './program.ts';

const server = closeAfterAll(await startPublicServer());
const world = await createWorld(server);
const visitor = await signedIn(server, world.ownerId);
const program = await Program.register(server);

describe('the discovery of the OAuth endpoints', () => {
  test('an MCP client whose tool call is refused can discover the OAuth registration endpoint from the response', async () => {
    const { status, headers } = await callTool(server, undefined);
    const [, url = ''] = /^Bearer resource_metadata="([^"]+)"/.exec(headers.get('www-authenticate') ?? '') ?? [];
    expect([status, url]).toEqual([401, `${server.config.BASE_URL}/.well-known/oauth-protected-resource/api/v1/mcp`]);
    for (const path of [new URL(url).pathname, '/.well-known/oauth-protected-resource']) {
      expect((await request(server, `GET ${path}`)).body).toEqual({
        resource: program.audience,
        authorization_servers: [server.config.BASE_URL],
        scopes_supported: ['mcp'],
        bearer_methods_supported: ['header'],
        resource_name: 'Idea-Board',
      });
    }
    const { body } = await request(server, 'GET /.well-known/oauth-authorization-server');
    const issuer = server.config.BASE_URL;
    expect(body).toMatchObject({
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      registration_endpoint: `${issuer}/oauth/register`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
    });
    expect(JSON.stringify(body)).not.toContain('openid');
  });

  test('the OAuth endpoints build all URLs in their answers from BASE_URL and never from the request', async () => {
    const hostile = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-forwarded-proto': 'https',
      'x-forwarded-port': '444',
      forwarded: 'host=evil.example;proto=https',
    };
    const own = await startServerForTest({
      on: server,
      environment: { BASE_URL: server.config.BASE_URL, TRUST_PROXY: 'true' },
    });
    const json = { 'content-type': 'application/json', ...hostile };
    const body = JSON.stringify({ redirect_uris: [callback], token_endpoint_auth_method: 'none' });
    const answers = [
      await rawRequest(own, 'GET', '/.well-known/oauth-authorization-server', { headers: hostile }),
      await rawRequest(own, 'GET', '/.well-known/oauth-protected-resource', { headers: hostile }),
      await rawRequest(own, 'POST', '/oauth/register', { headers: json, body }),
      await rawRequest(own, 'POST', '/api/v1/mcp', { headers: json, body: '{}' }),
      await rawRequest(own, 'GET', program.authorizationPath(), { headers: hostile }),
      // This request line has an absolute URL instead of a path.
      await rawRequest(own, 'GET', `https://evil.example${program.authorizationPath()}`, { headers: hostile }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 201, 401, 303, 303]);
    for (const { text, headers } of answers) {
      expect(text + JSON.stringify([...headers])).not.toMatch(/evil\.example|:444(?!\d)/);
      // BASE_URL has the scheme http, so a browser would drop a cookie with the attribute Secure.
      expect(headers.get('set-cookie') ?? '').not.toMatch(/secure/i);
    }
    const uid = answers.at(-1)?.headers.get('location')?.split('/').at(-1);
    const [row] = await server.sql<{ back: string }>(
      `select payload ->> 'returnTo' as back from oauth_records where payload ->> 'returnTo' like '%' || $1`,
      [uid],
    );
    expect(row?.back).toBe(`${server.config.BASE_URL}/oauth/authorize/${uid}`);
  });

  test.each([
    'https://ideas.example.com/ideas',
    'https://ideas.example.com/?x',
    'https://ada:x@ideas.example.com',
    'ftp://ideas.example.com',
    'ideas.example.com',
  ])('the server refuses the value %s of the setting BASE_URL, because this value is not an origin', BASE_URL => {
    expect(() => loadConfig({ BASE_URL })).toThrow(
      /^Invalid settings: BASE_URL must be an origin such as \S+, w[^;]+$/,
    );
  });

  test('the server converts the setting BASE_URL to the form in which browsers send origins', () => {
    expect(loadConfig({ BASE_URL: 'HTTPS://Ideas.Example.com:443//' }).BASE_URL).toBe('https://ideas.example.com');
  });

  test('the OAuth cookies have the attribute Secure if BASE_URL has the scheme https', async () => {
    const own = await startServerForTest({ on: server, environment: { BASE_URL: 'https://ideas.example.com' } });
    const there = new Program({ ...server, baseUrl: own.baseUrl }, program.clientId);
    const resource = 'https://ideas.example.com/api/v1/mcp';
    const { headers } = await request(own, `GET ${there.authorizationPath({ resource })}`);
    const cookies = headers.getSetCookie();
    expect(cookies).toHaveLength(4);
    for (const cookie of cookies) expect(cookie).toMatch(/^__Secure-.*; samesite=lax; secure; httponly$/i);
    // The browser sends each cookie only to one path.
    const page = headers.get('location') ?? '';
    const paths = cookies.map(cookie => /; path=([^;]*)/.exec(cookie)?.[1]);
    expect(new Set(paths)).toEqual(new Set([page, page.replace('/admin/connect/', '/oauth/authorize/')]));
  });
});

describe('an authorization request', () => {
  test.each([
    ['with a redirect URI of another host', { redirect_uri: 'https://evil.example/cb' }],
    ['with an unregistered path in its redirect URI', { redirect_uri: `${callback}/../x` }],
    ['with an unregistered query in its redirect URI', { redirect_uri: `${callback}?x=1` }],
    [
      'with localhost instead of the registered 127.0.0.1 in its redirect URI',
      { redirect_uri: callback.replace('127.0.0.1', 'localhost') },
    ],
    ['of an unknown client', { client_id: 'nobody' }],
    [
      'without a client id and with a redirect URI of another host',
      { client_id: undefined, redirect_uri: 'https://evil.example/' },
    ],
    ['with a NUL character', { state: 'a\0b' }],
    ['with a state that is too long', { state: 'x'.repeat(8200) }],
  ])(
    'an OAuth authorization request %s gets an error page and no redirect',
    async (_, fields: Record<string, string | undefined>) => {
      const { status, location, html, headers } = await visitor.get(program.authorizationPath(fields));
      expect([status, location]).toEqual([400, null]);
      expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(html).toContain('<h1>');
      expect(html).not.toContain('evil.example');
    },
  );

  test.each([
    ['without PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['with the PKCE method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['without a PKCE method', { code_challenge_method: undefined }, 'invalid_request'],
    ['with a PKCE challenge that is too short', { code_challenge: 'x' }, 'invalid_request'],
    ['for another resource server', { resource: 'https://elsewhere.example/api/v1/mcp' }, 'invalid_target'],
    ['for a resource server that is not a URL', { resource: 'the tools' }, 'invalid_target'],
    ['with the response type token', { response_type: 'token' }, 'invalid_request'],
    ['with the response mode fragment', { response_mode: 'fragment' }, 'unsupported_response_mode'],
    ['with the response mode form_post', { response_mode: 'form_post' }, 'unsupported_response_mode'],
    ['with a request_uri', { request_uri: 'https://evil.example/request' }, 'request_uri_not_supported'],
    ['in a signed JWT', { request: 'e30.e30.x' }, 'request_not_supported'],
  ])(
    'an OAuth authorization request %s is redirected to the client with an error',
    async (_, fields: Record<string, string | undefined>, error) => {
      const { status, location } = await visitor.get(program.authorizationPath(fields));
      const back = new URL(location ?? '');
      expect([status, back.origin + back.pathname]).toEqual([303, callback]);
      const told = new URLSearchParams(back.search || back.hash.slice(1));
      expect([told.get('error'), told.get('state'), told.get('iss')]).toEqual([
        error,
        'a state',
        server.config.BASE_URL,
      ]);
      expect(told.get('code')).toBeNull();
    },
  );

  test.each([
    ['https://evil.example/cb?from=here', 'evil.example'],
    ['cursor://anysphere.example/cb', 'cursor:'],
  ])(
    'an invalid authorization request with the redirect URI %s gets an error page with a link instead of a redirect',
    async (uri, host) => {
      const stranger = await Program.register(server, { redirect_uris: [uri] });
      for (const [fields, error] of [
        [{ prompt: 'none' }, 'login_required'],
        [{ code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
        [{ response_type: 'token' }, 'invalid_request'],
        [{ resource: 'https://elsewhere.example/' }, 'invalid_target'],
      ] as [Record<string, string | undefined>, string][]) {
        const answer = await visitor.get(stranger.authorizationPath({ redirect_uri: uri, ...fields }));
        expect([answer.status, answer.location]).toEqual([400, null]);
        expect(answer.html).toContain(`>Go back to <bdi>${host}</bdi></a>`);
        expect(answer.html).toContain(`<code>${error}: `);
        // The error page has a link that leads to the OAuth client and passes the error to the client.
        const [, href = ''] = new RegExp(`href="(${uri.replace(/[?]/g, '\\?')}[^"]*)"`).exec(answer.html) ?? [];
        const { searchParams, hash } = new URL(href.replaceAll('&amp;', '&'));
        expect(searchParams.get('error') ?? new URLSearchParams(hash.slice(1)).get('error')).toBe(error);
      }
      expect(await stranger.ask(visitor, { redirect_uri: uri })).toMatch(/^\/admin\/connect\//);
    },
  );

  test('an OAuth authorization request that names two resource servers is refused', async () => {
    const both = `${program.authorizationPath()}&resource=${encodeURIComponent('https://elsewhere.example/')}`;
    const { location } = await visitor.get(both);
    expect(new URL(location ?? '').searchParams.get('error')).toBe('invalid_target');
  });

  test('an OAuth authorization request can omit the scope and the resource server, and the server ignores unsupported scopes', async () => {
    for (const fields of [
      { scope: undefined, resource: undefined },
      {
        scope: 'openid profile mcp offline_access',
        prompt: 'consent select_account',
        nonce: 'n',
        login_hint: 'ada@example.com',
        max_age: '0',
      },
    ]) {
      const { searchParams } = await program.consent(visitor, { [world.boardId]: 'read' }, fields);
      const { body } = await program.redeem(searchParams.get('code') ?? '');
      expect(body).toMatchObject({ scope: 'mcp', refresh_token: expect.any(String) });
      expect(body.id_token).toBeUndefined();
      expect((await callTool(server, body.access_token)).status).toBe(200);
    }
    const [kept] = await server.sql(
      `select count(*)::int as count from oauth_records where payload::text like '%ada@%'`,
    );
    expect(kept).toEqual({ count: 0 });
  });

  test('an OAuth redirect URI with a loopback IP address may have a port that differs from the registered port', async () => {
    const uri = callback.replace('33418', '50123');
    const back = await program.consent(visitor, { [world.boardId]: 'read' }, { redirect_uri: uri });
    expect(back.port).toBe('50123');
    expect((await program.redeem(back.searchParams.get('code') ?? '', { redirect_uri: uri })).status).toBe(200);
  });

  test('an OAuth endpoint answers 405 to unsupported methods such as HEAD, and an unknown OAuth path gets 404', async () => {
    for (const line of [
      `HEAD ${program.authorizationPath()}`,
      `POST ${program.authorizationPath()}`,
      'GET /oauth/token',
      'PUT /oauth/register/x',
      'DELETE /oauth/register/x',
    ]) {
      expect([line, (await request(server, line)).status]).toEqual([line, 405]);
    }
    for (const line of [
      'GET /oauth',
      'GET /oauth/jwks',
      'GET /jwks',
      'GET /.well-known/openid-configuration',
      'POST /session/end/confirm',
      'GET /oauth/authorize/x/y',
      'POST /token',
    ]) {
      expect([line, (await request(server, line)).status]).toEqual([line, 404]);
    }
  });
});

describe('an OAuth error', () => {
  test.each([
    [
      'a JSON body instead of a form',
      'POST /oauth/token',
      { raw: '{"a":', headers: { 'content-type': 'application/json' } },
      400,
    ],
    ['no body', 'POST /oauth/token', {}, 400],
    ['a body that is too large', 'POST /oauth/token', { raw: new URLSearchParams({ x: 'x'.repeat(70_000) }) }, 400],
    ['malformed JSON', 'POST /oauth/register', { raw: '{', headers: { 'content-type': 'application/json' } }, 400],
    ['a JSON array', 'POST /oauth/register', { json: [1] }, 400],
    ['an unknown path', 'GET /oauth/nothing', {}, 404],
    ['an unsupported method', 'DELETE /oauth/token', {}, 405],
  ])(
    "a browser's OAuth request with %s gets a JSON error in the OAuth format and not an HTML page",
    async (_, line, options, status) => {
      const headers = { accept: 'text/html', ...('headers' in options ? options.headers : {}) };
      const answer = await request(server, line, { ...options, headers });
      expect(answer.status).toBe(status);
      expect(answer.headers.get('content-type')).toContain('application/json');
      expect(Object.keys(answer.body)).toEqual(['error', 'error_description']);
    },
  );

  test('an internal error during an OAuth request reveals no details to the client, and the server logs the error without secrets', async () => {
    const own = await startServerForTest({ environment: { BASE_URL: server.config.BASE_URL } });
    await own.sql('alter table oauth_records rename to gone');
    const page = await request(own, `GET ${program.authorizationPath()}`);
    const marker = 'M'.repeat(43);
    const secrets = {
      code: `ibc_${marker}`,
      code_verifier: marker,
      refresh_token: `ibr_${marker}`,
      client_secret: marker,
    };
    const json = await request(own, 'POST /oauth/token', {
      raw: new URLSearchParams({ client_id: 'x', grant_type: 'authorization_code', ...secrets }),
    });
    expect([page.status, json.status]).toEqual([500, 500]);
    expect(own.logLines.join('') + own.auditLines.join('') + json.text).not.toContain(marker);
    expect(json.body.error).toBe('server_error');
    expect(page.text + json.text).not.toMatch(/oauth_records|relation|select/);
    expect(own.logLines.filter(line => line.includes('a request failed'))).toHaveLength(2);
  });

  test('the OAuth error for an unavailable database has a Retry-After header', async () => {
    const own = await startServerForTest({ environment: { BASE_URL: server.config.BASE_URL } });
    await own.database.pool.end();
    const json = await request(own, 'POST /oauth/token', {
      raw: new URLSearchParams({ client_id: 'x', grant_type: 'refresh_token', refresh_token: 'ibr_x' }),
    });
    expect([json.status, json.body.error, json.headers.get('retry-after')]).toEqual([
      503,
      'temporarily_unavailable',
      '5',
    ]);
    expect((await request(own, `GET ${program.authorizationPath()}`)).status).toBe(503);
  });

  test('when an OAuth request exceeds the rate limit of its IP address, the error has the OAuth error format', async () => {
    const own = await startServerForTest({
      on: server,
      environment: { BASE_URL: server.config.BASE_URL, RATE_LIMIT_IP: '0' },
    });
    for (const line of ['POST /oauth/token', 'POST /oauth/register', 'POST /oauth/revoke', 'GET /oauth/register/x']) {
      const answer = await request(own, line);
      expect([line, answer.status, answer.body.error]).toEqual([line, 429, 'temporarily_unavailable']);
    }
    expect((await request(own, `GET ${program.authorizationPath()}`)).status).toBe(429);
  });
});

test('a web page of another origin can call the OAuth endpoints only if CORS_ORIGINS contains that origin', async () => {
  const own = await startServerForTest({
    on: server,
    environment: { BASE_URL: server.config.BASE_URL, CORS_ORIGINS: 'https://inspector.example' },
  });
  const paths = ['POST /oauth/token', 'POST /oauth/register', 'GET /.well-known/oauth-authorization-server'];
  for (const line of paths) {
    for (const [origin, allowed] of [
      ['https://inspector.example', 'https://inspector.example'],
      ['https://evil.example', null],
    ]) {
      const { headers } = await request(own, line, { headers: { origin: origin ?? '' } });
      expect([line, headers.get('access-control-allow-origin')]).toEqual([line, allowed]);
    }
  }
  const page = await request(own, `GET ${program.authorizationPath()}`, {
    headers: { origin: 'https://inspector.example' },
  });
  expect(page.headers.get('access-control-allow-origin')).toBeNull();
  expect(
    (
      await request(server, 'GET /.well-known/oauth-authorization-server', {
        headers: { origin: 'https://evil.example' },
      })
    ).headers.get('access-control-allow-origin'),
  ).toBeNull();
});

test('the metrics count OAuth requests by route, and the log line of an OAuth request has no query string', async () => {
  const metrics = buildMetrics();
  const own = await startServerForTest({
    on: server,
    environment: { BASE_URL: server.config.BASE_URL },
    dependencies: { metrics },
  });
  await request(own, `GET ${program.authorizationPath()}`);
  await request(own, 'POST /oauth/token', { raw: new URLSearchParams({ grant_type: 'refresh_token' }) });
  const { text } = await metrics.write(own.dependencies.database);
  expect(text).toMatch(/http_requests_total\{method="GET",route="\/oauth\/authorize",status="303",key=""\} 1/);
  expect(text).toMatch(/http_requests_total\{method="POST",route="\/oauth\/token",status="400",key=""\} 1/);
  const [line] = own.logLines.map(one => JSON.parse(one)).filter(one => one.path?.startsWith('/oauth/authorize'));
  expect(line).toMatchObject({ path: '/oauth/authorize', status: 303 });
});
