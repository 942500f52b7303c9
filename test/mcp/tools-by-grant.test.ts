import { describe, expect, test } from 'vitest';
import type { Grant } from '../../contract/grants.ts';
import { createBoard, createMember, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { request } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { callTool, envelope, modernHeaders } from './call-tool.ts';
import { tools } from './cases.ts';

/**
 * Returns the names of the tools whose operation needs this grant and no capability. The tool whoami needs only a
 * token, so it counts as a tool for the read grant.
 */
const toolsFor = (grant: Grant) =>
  tools
    .filter(({ metadata }) => (metadata.auth === 'board' ? metadata.grant : 'read') === grant)
    .filter(({ metadata }) => metadata.auth !== 'board' || !metadata.capability)
    .map(({ metadata }) => metadata.tool.name);
const [reading, writing, moderating] = (['read', 'write', 'moderate'] as const).map(toolsFor) as [
  string[],
  string[],
  string[],
];

const server = await startServerForFile();
const world = await createWorld(server);
const ideaId = await insertIdea(server, world);

/** Sends tools/list, with an MCP protocol version of 2025 or of 2026. Returns the sorted names of the listed tools. */
async function listed(token: string, { era = 'legacy', query = '' } = {}): Promise<string[]> {
  const isModern = era === 'modern';
  const { body } = await request(server, `POST /api/v1/mcp${query}`, {
    token,
    json: { jsonrpc: '2.0', id: 1, method: 'tools/list', params: isModern ? { _meta: envelope } : {} },
    headers: isModern ? modernHeaders('tools/list') : {},
  });
  return body.result.tools.map(({ name }: { name: string }) => name).sort();
}

const errorOf = (answer: { body: { result: { content: { text: string }[] } } }) =>
  JSON.parse(answer.body.result.content[0]?.text ?? '').error;

describe('the list of tools', () => {
  test.each([
    ['read', reading],
    ['write', [...reading, ...writing]],
    ['moderate', [...reading, ...writing, ...moderating]],
  ] as const)('a token with the grant %s sees exactly the MCP tools that it can use', async (grant, names) => {
    const { token } = await issueToken(server, world, grant, { capabilities: [] });
    for (const era of ['legacy', 'modern']) expect(await listed(token, { era })).toEqual([...names].sort());
  });

  test('a token with the capability manage_webhooks also sees the MCP tools for webhooks, unless its issuer is blocked or not an admin', async () => {
    const issuerId = await createMember(server, world.accountId, 'admin');
    const { token } = await issueToken(server, world, 'read', { issuerId, capabilities: ['manage_webhooks'] });
    const managing = tools.filter(({ metadata }) => metadata.auth === 'board' && metadata.capability);
    expect(managing).not.toEqual([]);
    const all = [...reading, ...managing.map(({ metadata }) => metadata.tool.name)].sort();
    for (const era of ['legacy', 'modern']) expect(await listed(token, { era })).toEqual(all);
    await server.sql(`update memberships set role = 'moderator' where user_id = $1`, [issuerId]);
    expect(await listed(token)).toEqual([...reading].sort());
    await server.sql(`update memberships set role = 'admin' where user_id = $1`, [issuerId]);
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, issuerId]);
    expect(await listed(token)).toEqual([...reading].sort());
  });

  test('a token with different grants on two boards sees the MCP tools for each of the two grants', async () => {
    const { id } = await createBoard(server, world.accountId);
    const { token } = await issueToken(server, world, { [world.boardId]: 'read', [id]: 'write' });
    expect(await listed(token)).toEqual([...reading, ...writing].sort());
  });

  test('after the grant of a token is lowered to read, the next list of MCP tools for this token contains only tools that read', async () => {
    const { token, id } = await issueToken(server, world, 'moderate', { capabilities: [] });
    expect(await listed(token)).toContain('merge_ideas');
    await server.sql(`update api_token_boards set level = 'read' where token_id = $1`, [id]);
    expect(await listed(token)).toEqual([...reading].sort());
  });

  test('the list of MCP tools has no moderation tools while the issuer of the token is not a moderator', async () => {
    const issuerId = await createMember(server, world.accountId, 'moderator');
    const { token } = await issueToken(server, world, 'moderate', { issuerId });
    expect(await listed(token)).toContain('merge_ideas');
    await server.sql(`update memberships set role = 'member' where user_id = $1`, [issuerId]);
    expect(await listed(token)).toEqual([...reading, ...writing].sort());
  });

  test('the list of MCP tools has no tools that write while the issuer of the token is blocked', async () => {
    const issuerId = await createMember(server, world.accountId, 'member');
    const { token } = await issueToken(server, world, 'write', { issuerId });
    await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [world.accountId, issuerId]);
    expect(await listed(token)).toEqual([...reading].sort());
  });

  test('a call of an MCP tool that needs a higher grant gets insufficient_scope with the needed grant and the grant of the token', async () => {
    const { token } = await issueToken(server, world, 'read');
    const args = { id: ideaId, value: 'up' };
    for (const form of ['modern', 'legacy-unusual'] as const) {
      const answer = await callTool(server, { token, name: 'vote_idea', args, form });
      expect(errorOf(answer)).toMatchObject({
        key: 'insufficient_scope',
        details: { board: world.boardSlug, needed: 'write', held: 'read' },
      });
    }
    expect(await server.sql('select from votes where idea_id = $1', [ideaId])).toEqual([]);
  });
});

describe('a board in the address', () => {
  const onBoard = (token: string, query: string, name: string, args: object = {}) =>
    request(server, `POST /api/v1/mcp${query}`, {
      token,
      json: { jsonrpc: '2.0', id: 'call-1', method: 'tools/call', params: { name, arguments: args } },
    });

  test('a tool call without the argument board uses the board of the address, and the argument has precedence', async () => {
    const { id: otherId, slug: other } = await createBoard(server, world.accountId);
    const { token } = await issueToken(server, world, { [world.boardId]: 'write', [otherId]: 'read' });
    const slugOf = async (query: string, args = {}) =>
      (await onBoard(token, query, 'get_board', args)).body.result.structuredContent.board.slug;
    expect(errorOf(await onBoard(token, '', 'get_board')).key).toBe('board_required');
    expect(await slugOf(`?board=${other}`)).toBe(other);
    expect(await slugOf(`?board=${other}&readonly=true`)).toBe(other);
    expect(await slugOf(`?board=${other}`, { board: world.boardSlug })).toBe(world.boardSlug);
    const { body } = await onBoard(token, `?board=${world.boardSlug}`, 'create_idea', {
      title: 'Here',
      body: 'By address.',
    });
    expect(await server.sql('select board_id from ideas where id = $1', [body.result.structuredContent.id])).toEqual([
      { board_id: world.boardId },
    ]);
    expect((await onBoard(token, `?board=${other}`, 'whoami')).body.result.isError).toBe(undefined);
    expect(await listed(token, { query: `?board=${other}` })).toContain('create_idea');
  });

  test('a tool call on a board of the address that the token does not grant is refused, and so is an invalid board', async () => {
    const { token } = await issueToken(server, world, 'write');
    const { slug } = await createBoard(server, world.accountId);
    for (const board of [slug, 'nowhere', '']) {
      expect([board, errorOf(await onBoard(token, `?board=${board}`, 'get_board')).key]).toEqual([
        board,
        'board_not_granted',
      ]);
    }
    const twice = await onBoard(token, `?board=${world.boardSlug}&board=${slug}`, 'get_board');
    expect([twice.status, twice.key]).toEqual([422, 'validation_failed']);
  });
});

describe('a read-only connection', () => {
  const readOnly = (token: string, name: string, args: object = {}) =>
    request(server, 'POST /api/v1/mcp?readonly=true', {
      token,
      json: { jsonrpc: '2.0', id: 'call-1', method: 'tools/call', params: { name, arguments: args } },
    });

  test('a read-only MCP connection lists only the tools that read, even with the moderate grant', async () => {
    const { token } = await issueToken(server, world, 'moderate');
    for (const era of ['legacy', 'modern']) {
      expect(await listed(token, { era, query: '?readonly=true' })).toEqual([...reading].sort());
      expect(await listed(token, { era, query: '?readonly=false' })).toContain('merge_ideas');
    }
  });

  test('a read-only MCP connection runs tools that read, and refuses tools that write without changing anything', async () => {
    const { token } = await issueToken(server, world, 'moderate');
    expect((await readOnly(token, 'get_idea', { id: ideaId })).body.result.structuredContent.id).toBe(ideaId);
    expect((await readOnly(token, 'whoami')).body.result.structuredContent.boards).toMatchObject([{ grant: 'read' }]);
    const before = await server.sql('select status_id, updated_at from ideas where id = $1', [ideaId]);
    const moved = await readOnly(token, 'set_idea_status', { id: ideaId, status: 'planned' });
    expect(errorOf(moved)).toMatchObject({
      key: 'insufficient_scope',
      message: `This needs the moderate grant on the board ${world.boardSlug}. The token has only the read grant there.`,
    });
    expect(moved.body.result.content[1].text).toContain('an address without readonly=true');
    expect(errorOf(await readOnly(token, 'vote_idea', { id: ideaId, value: 'up' })).key).toBe('insufficient_scope');
    expect(await server.sql('select status_id, updated_at from ideas where id = $1', [ideaId])).toEqual(before);
    expect(await server.sql('select from votes where idea_id = $1', [ideaId])).toEqual([]);
  });

  test('a read-only MCP connection shows no pending idea, even with the moderate grant', async () => {
    const { token } = await issueToken(server, world, 'moderate');
    const pendingId = await insertIdea(server, world, { moderationState: 'pending' });
    expect((await callTool(server, { token, name: 'get_idea', args: { id: pendingId } })).body.result.isError).toBe(
      undefined,
    );
    expect(errorOf(await readOnly(token, 'get_idea', { id: pendingId })).key).toBe('not_found');
  });

  test('the instructions of a read-only MCP connection say that it is read-only', async () => {
    const { token } = await issueToken(server, world, 'write');
    const hello = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'a', version: '1' } };
    const json = { jsonrpc: '2.0', id: 1, method: 'initialize', params: hello };
    const [plain, readOnlyOne] = await Promise.all(
      ['', '?readonly=true'].map(query => request(server, `POST /api/v1/mcp${query}`, { token, json })),
    );
    expect(plain?.body.result.instructions).not.toContain('read-only');
    expect(readOnlyOne?.body.result.instructions).toContain('This connection is read-only.');
  });

  test.each(['?readonly=yes', '?readonly', '?readonly=true&readonly=true', '?readOnly=true'])(
    'an MCP request with the query %s is refused, and its tool call does not run',
    async query => {
      const { token } = await issueToken(server, world, 'write');
      const params = { name: 'vote_idea', arguments: { id: ideaId, value: 'up' } };
      const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      const answer = await request(server, `POST /api/v1/mcp${query}`, { token, json });
      expect(answer).toMatchObject({ status: 422, key: 'validation_failed' });
      expect(await server.sql('select from votes where idea_id = $1', [ideaId])).toEqual([]);
    },
  );
});
