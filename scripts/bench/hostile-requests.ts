export interface HostileRequest {
  name: string;
  method?: string;
  path: string;
  headers?: Record<string, string>;
  body?: string;
}

/**
 * The cheapest request. The benchmark compares the CPU time of all hostile requests with the CPU time of this request.
 */
export const plainRequest: HostileRequest = { name: 'plain 404', path: '/x' };

/** The size of a request head near Node's limit. Node accepts at most 16 KiB for the request line and the headers. */
const headBytes = 15_000;
const bodyBytes = 16 * 1024;

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

/** Lists requests that are expensive for the router, the parsers, the schemas, the MCP code or the log. */
export function hostileRequests(token: string): HostileRequest[] {
  const bearer = { authorization: `Bearer ${token}` };
  const fields = Array.from({ length: 1_300 }, (_, n) => `"f${n}":[[]]`).join();
  const call = (args: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"create_idea","arguments":${args}}}`;
  const bodies = {
    'of brackets': fill('[', bodyBytes / 2) + fill(']', bodyBytes / 2),
    'of fields': `{${fields}}`,
    'of escapes': `{"title":"${fill('\\u0041', bodyBytes - 100)}"}`,
    'of one text': `{"title":"${fill('a@a ', bodyBytes - 100)}"}`,
    'of numbers': `[${fill('1,', bodyBytes - 100)}1]`,
  };
  return [
    { name: 'path of /a@a', path: fill('/a@a', headBytes) },
    { name: 'path of %40a', path: `/${fill('%40a', headBytes)}` },
    { name: 'path of %25', path: `/${fill('%25', headBytes)}` },
    { name: 'path of token=', path: `/${fill('token=', headBytes)}` },
    { name: 'path of ://a:b@', path: fill('/://a:b@', headBytes) },
    { name: 'path with broken encoding', path: `/${fill('%zz', headBytes)}` },
    { name: 'path below a parameter', path: `/api/v1/ideas/${fill('1', headBytes)}` },
    { name: 'path of an admin page', path: `/admin/${fill('a@a/', headBytes)}` },
    { name: 'path of WebDAV', method: 'PROPFIND', path: fill('/a@a', headBytes) },
    { name: 'query of addresses', path: `/x?${fill('a@a&', headBytes)}` },
    { name: 'query of parameters', path: `/x?${fill('a&', headBytes)}` },
    { name: 'query of escapes', path: `/x?${fill('%41=%41&', headBytes)}` },
    { name: 'query of a list, with a token', path: `/api/v1/ideas?${fill('q=a&', headBytes)}`, headers: bearer },
    { name: 'query of fields, with a token', path: `/api/v1/ideas?${numbered(headBytes)}`, headers: bearer },
    { name: 'query of a public board', path: `/b/none?${fill('q=a&', headBytes)}` },
    { name: 'query of a consent', path: `/oauth/authorize?${numbered(8_000)}` },
    { name: 'headers of addresses', path: '/x', headers: { 'x-a': fill('a@a ', headBytes) } },
    { name: 'many headers', path: '/x', headers: manyHeaders() },
    { name: 'Authorization', path: '/api/v1/board', headers: { authorization: `Bearer ${fill('x', headBytes)}` } },
    {
      name: 'Authorization of spaces',
      path: '/api/v1/board',
      headers: { authorization: `Bearer ${fill(' ', headBytes)}x` },
    },
    { name: 'cookies', path: '/admin', headers: { cookie: fill('a=b; ', headBytes) } },
    { name: 'cookie of a session', path: '/admin', headers: { cookie: `idea_board_session=${fill('x', headBytes)}` } },
    {
      name: 'ETags, with a token',
      path: '/api/v1/board',
      headers: { ...bearer, 'if-none-match': fill('"a", ', headBytes) },
    },
    { name: 'X-Forwarded-For', path: '/x', headers: { 'x-forwarded-for': fill('1.1.1.1, ', headBytes) } },
    { name: 'Origin', path: '/api/v1/board', headers: { origin: fill('http://a.', headBytes) } },
    ...Object.entries(bodies).flatMap(([name, body]) => [
      post(`body ${name}`, '/api/v1/ideas', json, body),
      post(`body ${name}, with a token`, '/api/v1/ideas', { ...json, ...bearer }, body),
      post(`tools: body ${name}`, '/api/v1/mcp', json, body),
      post(`tools: arguments ${name}`, '/api/v1/mcp', json, call(body)),
      post(`registration ${name}`, '/oauth/register', json, body),
    ]),
    post('form of fields to OAuth', '/oauth/token', form, numbered(bodyBytes)),
    post('form of addresses to OAuth', '/oauth/token', form, fill('a@a=&', bodyBytes)),
    post('form of fields to a page', '/admin/password', form, numbered(bodyBytes)),
    post('form to unsubscribe', `/unsubscribe?token=${fill('1.', 8_000)}`, form, numbered(8_000)),
  ];
}

function post(name: string, path: string, headers: Record<string, string>, body: string): HostileRequest {
  return { name, method: 'POST', path, headers, body };
}

function fill(unit: string, length: number): string {
  return unit.repeat(Math.floor(length / unit.length));
}

/** Builds a query of the given length from many different parameters. */
function numbered(length: number): string {
  let text = 'a=1';
  for (let n = 0; text.length < length - 10; n++) text += `&a${n}=1`;
  return text;
}

function manyHeaders(): Record<string, string> {
  return Object.fromEntries(Array.from({ length: 1_200 }, (_, n) => [`x${n}`, 'a@a']));
}
