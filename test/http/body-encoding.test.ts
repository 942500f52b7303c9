import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import { startServerForFile } from '../helpers/server.ts';

let token: string;

const server = await startServerForFile();
const world = await createWorld(server);
({ token } = await issueToken(server, world, 'write'));
const ideaId = await insertIdea(server, world);

const vote = '{"value":"up"}';
const call = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
const form = 'application/x-www-form-urlencoded';

const bodies: [string, string, string, string][] = [
  ['a REST request', '/api/v1/ideas/:id/vote', 'application/json', vote],
  ['an MCP request', '/api/v1/mcp', 'application/json', call],
  ['the form of a page', '/sign-in', form, 'email=a&password=b'],
  ['an OAuth token request', '/oauth/token', form, 'grant_type=refresh_token'],
  ['an OAuth client registration', '/oauth/register', 'application/json', '{"redirect_uris":["http://localhost/x"]}'],
  ['an OAuth token revocation', '/oauth/revoke', form, 'token=x'],
];

test.each(bodies)(
  'a POST request with a Content-Encoding other than identity gets 415 and changes nothing: %s',
  async (_, path, type, text) => {
    for (const encoding of ['gzip', 'GZIP', 'deflate', 'br', 'zstd', 'identity, gzip', 'x-unknown']) {
      for (const isChunked of [false, true]) {
        const answer = await rawRequest(server, 'POST', path.replace(':id', String(ideaId)), {
          token,
          headers: {
            'content-type': type,
            'content-encoding': encoding,
            ...(path === '/sign-in' ? { origin: server.baseUrl } : {}),
          },
          body: encoding.toLowerCase() === 'gzip' ? gzipSync(text) : text,
          isChunked,
        });
        expect([encoding, answer.status]).toEqual([encoding, 415]);
        expect(answer.headers.get('accept-encoding')).toBe('identity');
        if (path.startsWith('/api/')) expect(answer.key).toBe('unsupported_media_type');
      }
    }
    expect(await server.sql('select from votes')).toEqual([]);
    expect(await server.sql('select from oauth_records')).toEqual([]);
    expect(server.logLines.filter(line => (JSON.parse(line) as { level: number }).level > 30)).toEqual([]);
  },
);

test('the server accepts a body with "Content-Encoding: identity", and a GET request with "Content-Encoding: gzip"', async () => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'Identity' };
  const path = `/api/v1/ideas/${ideaId}/vote`;
  expect((await rawRequest(server, 'POST', path, { token, headers, body: vote })).status).toBe(200);
  const encoded = { 'content-encoding': 'gzip' };
  expect((await rawRequest(server, 'GET', '/api/v1/board', { token, headers: encoded })).status).toBe(200);
  expect((await rawRequest(server, 'GET', '/api/v1/board', { token, headers: encoded, body: 'x' })).status).toBe(200);
});

test('the server checks a request in this order: token, grant, Content-Encoding, body', async () => {
  const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
  const reader = await issueToken(server, world, 'read');
  for (const [sent, path, expected] of [
    ['x', '/api/v1/ideas/1/vote', [401, 'unauthorized']],
    [reader.token, '/api/v1/ideas/1/vote', [403, 'insufficient_scope']],
    [token, '/api/v1/ideas/999999999/vote', [415, 'unsupported_media_type']],
    [token, '/no/such/path', [404, 'not_found']],
    ['x', '/api/v1/mcp', [401, 'unauthorized']],
  ] as const) {
    const answer = await rawRequest(server, 'POST', path, { token: sent, headers, body: '{' });
    expect([path, answer.status, answer.key]).toEqual([path, ...expected]);
  }
});
