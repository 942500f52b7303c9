import { readFileSync } from 'node:fs';
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { adviceFor } from '../../contract/advice.ts';
import type { ErrorKey } from '../../contract/errors.ts';
import type { Route } from '../../contract/routes.ts';
import { legacyVersions } from '../../server/mcp/plain-call.ts';
import { testClock } from '../helpers/clock.ts';
import { createTestDatabase, type TestDatabase } from '../helpers/database.ts';
import { createBoard, createWorld, insertIdea, issueToken, type World } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { callTool, envelope, modernHeaders, send } from './call-tool.ts';
import { tools } from './cases.ts';
import { userTexts } from './user-texts.ts';

interface DocumentedOperation {
  parameters?: { name: string; in: string }[];
  requestBody?: { content: { 'application/json': { schema: { $ref?: string } } } };
}

const document: {
  paths: { [path: string]: { [method: string]: DocumentedOperation } };
  components: { schemas: { [name: string]: { properties?: object; required?: string[] } } };
} = JSON.parse(readFileSync(new URL('../../contract/openapi.json', import.meta.url), 'utf8'));

let db: TestDatabase;
let server: TestServer;
/** A second server on the same database. */
let replica: TestServer;
let world: World;
let token: string;
let tokenId: number;
let ideaId: number;

beforeAll(async () => {
  db = await createTestDatabase();
  const clock = testClock();
  server = await startServer({ on: db, clock });
  replica = await startServer({ on: db, clock });
  world = await createWorld(server);
  ({ token, id: tokenId } = await issueToken(server, world, 'moderate'));
  ideaId = await insertIdea(server, world);
});
afterAll(async () => {
  await Promise.all([server.close(), replica.close()]);
  await db.drop();
});

const legacy = (method: string, params: object = {}, more: object = { id: 1 }) => ({
  token,
  message: { jsonrpc: '2.0', method, params, ...more },
});
const modern = (method: string, params: object = {}) => ({
  token,
  message: { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: envelope } },
  headers: modernHeaders(method),
});

/**
 * Returns the fields of an operation that the OpenAPI document lists, in the same order as the arguments of the
 * operation's tool.
 */
function documentedInput({ method, path }: Route) {
  const { parameters = [], requestBody } =
    document.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()] ?? {};
  const reference = requestBody?.content['application/json'].schema.$ref ?? '';
  const { properties = {}, required = [] } = document.components.schemas[reference.split('/').at(-1) ?? ''] ?? {};
  const namesIn = (place: string) => parameters.filter(one => one.in === place).map(({ name }) => name);
  const ofPath = namesIn('path').map(name => name.replace(/[A-Z]/g, letter => `_${letter.toLowerCase()}`));
  const ofQuery = namesIn('query');
  const [boards, others] = [ofQuery.filter(name => name === 'board'), ofQuery.filter(name => name !== 'board')];
  return { fields: [...ofPath, ...Object.keys(properties), ...others, ...boards], required: [...ofPath, ...required] };
}

/** Returns the sum of the token's rate limit counters. */
async function charged(): Promise<number> {
  const [row] = await server.sql<{ sum: string }>(
    `select coalesce(sum(count), 0)::text as sum from rate_limits where key like 'apitoken:%:' || $1`,
    [tokenId],
  );
  return Number(row?.sum);
}

describe('the MCP protocol versions of 2025', () => {
  test.each(['2025-11-25', '2025-06-18', '2025-03-26'])(
    'the server negotiates the MCP protocol version %s and creates no session',
    async version => {
      const hello = { protocolVersion: version, capabilities: {}, clientInfo: { name: 'a', version: '1' } };
      const answer = await send(server, legacy('initialize', hello));
      expect(answer).toMatchObject({ status: 200, body: { result: { protocolVersion: version } } });
      expect(answer.headers.get('mcp-session-id')).toBeNull();
      const { result } = answer.body;
      expect(result.capabilities).toEqual({ tools: {} });
      expect(result.serverInfo).toMatchObject({ name: 'idea-board', title: 'Idea-Board' });
      expect(result.instructions).toContain('whoami');

      const headers = { 'mcp-protocol-version': version };
      const initialized = await send(server, { ...legacy('notifications/initialized', {}, {}), headers });
      expect([initialized.status, initialized.text]).toEqual([202, '']);
      // The protocol has no sessions, so another server can answer the client's next message.
      const called = await callTool(replica, {
        token,
        name: 'get_idea',
        args: { id: ideaId },
        form: 'legacy',
        headers,
      });
      expect(called.body.result.structuredContent.id).toBe(ideaId);
    },
  );

  test('the OpenAPI document says that MCP notifications and responses get 202 without a body and do not count against the rate limit', async () => {
    const { paths } = JSON.parse(readFileSync('contract/openapi.json', 'utf8'));
    const documented = paths['/api/v1/mcp'].post.responses[202];
    expect(documented.description).toBe(
      'The message is a notification or a response. The server accepts it and sends no body. Does not count against the rate limit.',
    );
    expect(documented).not.toHaveProperty('content');
    const before = await charged();
    const response = { token, message: { jsonrpc: '2.0', id: 1, result: {} } };
    for (const message of [legacy('notifications/initialized', {}, {}), response]) {
      const answer = await send(server, message);
      expect([answer.status, answer.text]).toEqual([202, '']);
      for (const name of Object.keys(documented.headers)) expect(answer.headers.has(name), name).toBe(true);
    }
    expect(await charged()).toBe(before);
  });

  test('the server answers an initialize request for an unknown MCP protocol version with 2025-11-25, and refuses a header with an unknown version', async () => {
    const hello = { protocolVersion: '2020-01-01', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    const answer = await send(server, legacy('initialize', hello));
    expect(answer.body.result.protocolVersion).toBe('2025-11-25');
    const headers = { 'mcp-protocol-version': '2020-01-01' };
    expect(await send(server, { ...legacy('tools/list'), headers })).toMatchObject({
      status: 400,
      key: 'invalid_message',
    });
    const called = await callTool(server, { token, name: 'whoami', form: 'legacy', headers });
    expect(called).toMatchObject({ status: 400, key: 'invalid_message' });
    expect(called.body.error.data.advice).toBe(adviceFor('invalid_message'));
  });

  test('the server supports exactly the MCP protocol versions before 2026 that the MCP SDK supports', () => {
    expect(legacyVersions).toEqual(SUPPORTED_PROTOCOL_VERSIONS);
  });

  test('for MCP protocol versions of 2025, the server answers `ping`, refuses an unknown MCP method, and accepts a response of the client', async () => {
    expect((await send(server, legacy('ping'))).body.result).toEqual({});
    expect(await send(server, legacy('prompts/list'))).toMatchObject({
      status: 200,
      body: { error: { code: -32_601 } },
    });
    const answer = await send(server, { token, message: { jsonrpc: '2.0', id: 7, result: {} } });
    expect([answer.status, answer.text]).toEqual([202, '']);
  });
});

describe('the MCP protocol version of 2026', () => {
  test('the MCP method server/discover returns the supported protocol version and the instructions', async () => {
    const { body } = await send(server, modern('server/discover'));
    expect(body.result).toMatchObject({ supportedVersions: ['2026-07-28'], capabilities: { tools: {} } });
    expect(body.result.instructions).toContain('whoami');
  });

  test.each([
    ['headers that name another tool', { headers: modernHeaders('tools/call', 'get_board') }],
    ['headers that name another method', { headers: modernHeaders('tools/list', 'get_idea') }],
    ['headers that do not name the tool', { headers: modernHeaders('tools/call') }],
    [
      'headers of another protocol version',
      { headers: { ...modernHeaders('tools/call', 'get_idea'), 'mcp-protocol-version': '2025-11-25' } },
    ],
    ['no MCP headers', { headers: {} }],
    [
      'a _meta object without client capabilities',
      { _meta: { ...envelope, 'io.modelcontextprotocol/clientCapabilities': undefined } },
    ],
    ["a _meta object without the client's name", { _meta: { ...envelope, 'io.modelcontextprotocol/clientInfo': {} } }],
    [
      'an unknown protocol version',
      { _meta: { ...envelope, 'io.modelcontextprotocol/protocolVersion': '2027-01-01' } },
    ],
  ])(
    'a tool call of the MCP protocol version of 2026 with %s is refused and does not run',
    async (_, {
      headers = modernHeaders('tools/call', 'vote_idea'),
      _meta = envelope,
    }: { headers?: Record<string, string>; _meta?: object }) => {
      const params = { name: 'vote_idea', arguments: { id: ideaId, value: 'down' }, _meta };
      const answer = await send(server, {
        token,
        message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
        headers,
      });
      expect(answer).toMatchObject({ status: 400, key: 'invalid_message', body: { jsonrpc: '2.0', id: 1 } });
      expect(answer.body.error.data).toMatchObject({ key: 'invalid_message', advice: adviceFor('invalid_message') });
      expect(await server.sql('select from votes where idea_id = $1', [ideaId])).toEqual([]);
    },
  );

  test('a request for an unknown MCP method with the MCP protocol version of 2026 gets 404', async () => {
    expect(await send(server, modern('prompts/list'))).toMatchObject({
      status: 404,
      key: 'not_found',
      body: {
        id: 1,
        error: { code: -32_601, data: { key: 'not_found', advice: expect.stringContaining('tools/list') } },
      },
    });
  });

  test('the response to subscriptions/listen ends immediately, because the server never sends MCP notifications', async () => {
    const answer = await send(server, modern('subscriptions/listen', { notifications: { toolsListChanged: true } }));
    expect(answer.status).toBe(200);
    const messages = answer.text.split('\n').filter(line => line.startsWith('data: '));
    expect(messages.map(line => JSON.parse(line.slice(6)))).toMatchObject([
      { method: 'notifications/subscriptions/acknowledged', params: { notifications: {} } },
      { id: 1, result: { resultType: 'complete' } },
    ]);
  });
});

describe('the list of the tools', () => {
  test("tools/list returns all tools in the order of the contract to a moderator and does not count against the token's rate limits", async () => {
    const before = await charged();
    const [ofLegacy, ofModern] = await Promise.all([
      send(server, legacy('tools/list')),
      send(replica, modern('tools/list')),
    ]);
    const { tools: listed, nextCursor } = ofLegacy.body.result;
    expect(ofModern.body.result.tools).toEqual(listed);
    expect(ofModern.body.result).toMatchObject({ ttlMs: 0, cacheScope: 'private' });
    expect(nextCursor).toBeUndefined();
    expect(listed[0].name).toBe('whoami');
    expect(listed.map((tool: { name: string }) => tool.name)).toEqual(tools.map(({ metadata }) => metadata.tool.name));
    expect(await charged()).toBe(before);
    expect((await send(server, legacy('tools/list', { cursor: 'x' }))).body.error.code).toBe(-32_602);
  });

  test('the list of MCP tools does not exceed a maximum number of bytes and a maximum number of language model tokens', async () => {
    // Each tool beyond the first 13 tools may add 1,200 bytes and 165 language model tokens. One such token has about
    // four characters.
    const added = Math.max(0, tools.length - 13);
    for (const message of [legacy('tools/list'), modern('tools/list')]) {
      const { text, body } = await send(server, message);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(16 * 1024 + added * 1_200);
      const prompts = body.result.tools.map(
        ({ name, description, inputSchema }: { name: string; description: string; inputSchema: object }) =>
          name + description + JSON.stringify(inputSchema),
      );
      expect(prompts.join('').length / 4).toBeLessThanOrEqual(2_100 + added * 165);
    }
  });

  test('each MCP tool has a description, an input and an output schema, and annotations about its effects', async () => {
    const { body } = await send(server, legacy('tools/list'));
    for (const tool of body.result.tools) {
      const operation = tools.find(({ metadata }) => metadata.tool.name === tool.name);
      const isRead = operation?.route.method === 'GET';
      expect(tool.description.length, tool.name).toBeGreaterThan(100);
      const effects = {
        destructiveHint: operation?.metadata.tool.isDestructive,
        idempotentHint: operation?.metadata.tool.isIdempotent,
      };
      expect(tool.annotations).toEqual({
        readOnlyHint: isRead,
        ...(isRead ? {} : effects),
        openWorldHint: operation !== undefined && userTexts(operation) !== undefined,
      });
      expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
      if (tool.name !== 'whoami') expect(tool.inputSchema.properties.board.type).toBe('string');
      for (const [name, schema] of Object.entries<{ description?: string }>(tool.inputSchema.properties)) {
        // The server's instructions explain the arguments for ids, boards and pages once for all tools. So these
        // arguments need no description.
        const isExplained = [
          'id',
          'tag_id',
          'comment_id',
          'note_id',
          'webhook_id',
          'delivery_id',
          'board',
          'page',
          'per_page',
          'cursor',
        ].includes(name);
        if (!isExplained) expect(schema.description ?? schema, `${tool.name} ${name}`).toMatch(/\w/);
      }
      // The output schema must not forbid additional fields, because later releases of v1 may add some.
      expect(tool.outputSchema.type).toBe('object');
      expect(JSON.stringify(tool.outputSchema)).not.toMatch(/additionalProperties|"description":"|"required":\[/);
      // The list must contain neither the format int64, which validators do not know, nor examples, which only the
      // OpenAPI document uses.
      expect(JSON.stringify(tool)).not.toMatch(/int64|"examples"|\$ref|9007199254740991/);
    }
  });

  test('the page docs/mcp.md lists every MCP tool of the server with the grant and the capability that the tool needs', async () => {
    const page = readFileSync(new URL('../../docs/mcp.md', import.meta.url), 'utf8');
    const rows = page.split('\n').filter(line => /^\| `\w+`/.test(line));
    const documented = rows.flatMap(row => {
      const [, names = '', , needs = ''] = row.split('|');
      return [...names.matchAll(/`(\w+)`/g)].map(([, name]) => [name, needs.replaceAll('`', '').trim()]);
    });
    const needed = tools.map(({ metadata }) => [
      metadata.tool.name,
      metadata.auth === 'board'
        ? [metadata.grant, ...(metadata.capability ? [metadata.capability] : [])].join(' and ')
        : 'any token',
    ]);
    expect(documented.filter(([name]) => needed.some(([known]) => known === name)).sort()).toEqual(needed.sort());
  });

  test('each MCP tool has the arguments of its API operation in snake case, and requires the same arguments as this operation', async () => {
    const { body } = await send(server, legacy('tools/list'));
    const inputs = body.result.tools.map(
      ({ name, inputSchema }: { name: string; inputSchema: Record<string, object> }) => [
        name,
        Object.keys(inputSchema.properties as object).join(' '),
        (inputSchema.required as string[] | undefined)?.join(' '),
      ],
    );
    expect(inputs).toEqual(
      tools.map(({ metadata, route }) => {
        const { fields, required } = documentedInput(route);
        return [metadata.tool.name, fields.join(' '), required.length > 0 ? required.join(' ') : undefined];
      }),
    );
    expect(inputs).toContainEqual(['remove_idea_tag', 'id tag_id board', 'id tag_id']);
    expect(inputs).toContainEqual(['list_comments', 'id page per_page cursor board', 'id']);
  });
});

describe('a tool call', () => {
  test("for the MCP protocol versions of 2025 and 2026, the server's own answer to a tool call equals the answer of the MCP SDK", async () => {
    for (const name of ['get_idea', 'get_board', 'list_ideas', 'whoami']) {
      for (const args of [name === 'get_idea' ? { id: ideaId } : {}, { nonsense: true }]) {
        for (const era of ['modern', 'legacy'] as const) {
          const plain = await callTool(server, { token, name, args, form: era });
          const unusual = await callTool(server, { token, name, args, form: `${era}-unusual` });
          // Replaces all numbers, because each call reduces the number of remaining requests in the next answer.
          const withoutCounts = (body: unknown) => JSON.parse(JSON.stringify(body).replace(/\d+/g, '0'));
          expect(withoutCounts(plain.body)).toEqual(withoutCounts(unusual.body));
          expect(plain.headers.get('content-type')).toBe(unusual.headers.get('content-type'));
        }
      }
    }
  });

  test.each([undefined, 'application/json', 'text/event-stream', '*/*', 'text/html'])(
    'an MCP request with the Accept header %s gets a JSON response',
    async accept => {
      const response = await fetch(`${server.baseUrl}/api/v1/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${token}`,
          ...(accept ? { accept } : {}),
        },
        body: JSON.stringify(legacy('tools/list').message),
      });
      expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8']);
    },
  );

  test("a call of an unknown tool and a malformed tool call get a JSON-RPC error and do not count against the token's rate limits", async () => {
    const before = await charged();
    const calls: [object, ErrorKey][] = [
      [{ name: 'no_such_tool', arguments: {} }, 'not_found'],
      [{ name: '__proto__', arguments: {} }, 'not_found'],
      [{ name: 'get_idea', arguments: [ideaId] }, 'invalid_message'],
      [{ name: 'get_idea', arguments: 'id' }, 'invalid_message'],
      [{ name: 7 }, 'invalid_message'],
      [{}, 'invalid_message'],
    ];
    for (const [params, key] of calls) {
      const advice = key === 'not_found' ? expect.stringContaining('tools/list') : adviceFor(key);
      expect(await send(server, legacy('tools/call', params))).toMatchObject({
        status: 200,
        body: { error: { code: -32_602, data: { key, advice } } },
      });
    }
    // A message without an id is a notification, so the server does not run the tool call in it.
    const vote = { name: 'vote_idea', arguments: { id: ideaId, value: 'down' } };
    expect((await send(server, legacy('tools/call', vote, {}))).status).toBe(202);
    const inEnvelope = { jsonrpc: '2.0', method: 'tools/call', params: { ...vote, _meta: envelope } };
    const headers = modernHeaders('tools/call', 'vote_idea');
    expect((await send(server, { token, message: inEnvelope, headers })).status).toBe(202);
    // The server does not run the tool call of a message that is not valid JSON-RPC.
    for (const wrong of [{ id: null }, { id: 1.5 }, { id: {} }, { id: 1, jsonrpc: '1.0' }]) {
      const answer = await send(server, legacy('tools/call', vote, wrong));
      expect(answer).toMatchObject({ status: 400, key: 'invalid_message' });
      expect(answer.body.error.data.advice).toBe(adviceFor('invalid_message'));
    }
    expect(await server.sql('select from votes where idea_id = $1', [ideaId])).toEqual([]);
    expect(await charged()).toBe(before);
  });

  test('the error for a tool call with invalid arguments names the arguments', async () => {
    const issuesOf = async (name: string, args: object, meta = {}) => {
      const { body } = await callTool(server, { token, name, args, meta });
      const { error } = JSON.parse(body.result.content[0].text);
      return error.issues?.map(({ path }: { path: string[] }) => path.join('.')) ?? error.key;
    };
    expect(await issuesOf('get_idea', {})).toEqual(['arguments.id']);
    expect(await issuesOf('get_idea', { id: null, nonsense: 1 })).toEqual(['arguments.id', 'arguments']);
    expect(await issuesOf('remove_idea_tag', { id: ideaId })).toEqual(['arguments.tag_id']);
    expect(await issuesOf('create_idea', { title: ' ', body: 7 })).toEqual(['arguments.title', 'arguments.body']);
    expect(await issuesOf('list_ideas', { page: 0, sort: 'best' })).toEqual(['arguments.sort', 'arguments.page']);
    expect(await issuesOf('get_board', { board: ['a', 'b'] })).toEqual(['arguments.board']);
    // Some models send null for an argument that they want to omit. For such a value, the error describes the expected
    // value of the argument.
    const withoutBoard = await callTool(server, { token, name: 'get_board', args: { board: null } });
    expect(withoutBoard.body.result.content[0].text).toContain('"Must be the slug of a board"');
    expect(await issuesOf('merge_ideas', { id: ideaId, target_id: 'x' })).toEqual(['arguments.target_id']);
    const key = (value: unknown) =>
      issuesOf('vote_idea', { id: ideaId, value: 'up' }, { 'idea-board/idempotency-key': value });
    expect(await key('a key')).toEqual(['_meta.idea-board/idempotency-key']);
    expect(await key(7)).toEqual(['_meta.idea-board/idempotency-key']);
    // An invalid id in a tool call gets not_found, like an invalid id in the path of an HTTP request.
    for (const id of ['x', '1e3', -1, 1.5, 2 ** 60, '9'.repeat(30_000)])
      expect(await issuesOf('get_idea', { id })).toBe('not_found');
  });

  test('a tool call by a token with several boards can name the board in an argument', async () => {
    const { id, slug } = await createBoard(server, world.accountId);
    const { token: ofBoth } = await issueToken(server, world, { [world.boardId]: 'write', [id]: 'read' });
    const call = async (name: string, args: object) =>
      (await callTool(server, { token: ofBoth, name, args })).body.result;
    expect((await call('get_board', { board: slug })).structuredContent.board.id).toBe(id);
    expect((await call('get_board', {})).content[0].text).toContain('"board_required"');
    expect((await call('whoami', {})).structuredContent.boards).toHaveLength(2);
    expect((await call('create_idea', { board: slug, title: 'A', body: 'B' })).content[0].text).toContain(
      '"insufficient_scope"',
    );
  });

  test('a tool call gets the answer to an earlier REST request with the same idempotency key and the same content', async () => {
    const meta = { 'idea-board/idempotency-key': 'a-key-of-both' };
    const json = { title: 'Once', body: 'And not twice.' };
    const headers = { 'idempotency-key': 'a-key-of-both' };
    const first = await request(server, 'POST /api/v1/ideas', { token, json, headers });
    for (const form of ['modern', 'legacy-unusual'] as const) {
      const again = await callTool(replica, { token, name: 'create_idea', args: json, meta, form });
      expect(again.body.result.structuredContent).toEqual(first.body);
      expect(again.body.result._meta).toMatchObject({ 'idea-board/idempotency-replayed': true });
    }
    const other = await callTool(server, { token, name: 'create_idea', args: { ...json, body: 'Other.' }, meta });
    expect(other.body.result.content[0].text).toContain('"idempotency_key_reused"');
    expect(await server.sql(`select from ideas where title = 'Once'`)).toHaveLength(1);
  });

  test('a tool call ignores the HTTP header Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'the-same-each-time' };
    const vote = (value: string) =>
      callTool(server, { token, name: 'vote_idea', args: { id: ideaId, value }, headers });
    expect((await vote('up')).body.result.structuredContent.my_vote).toBe('up');
    expect((await vote('none')).body.result.structuredContent.my_vote).toBe('none');
    expect((await vote('up')).body.result.structuredContent.my_vote).toBe('up');
  });
});
