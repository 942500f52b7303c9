import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { createTargets, type Targets } from '../helpers/operations.ts';
import { startServer, type TestServer } from '../helpers/server.ts';

let server: TestServer;
let targets: Targets;
let moderator: string;
let reader: string;

beforeAll(async () => {
  server = await startServer();
  const world = await createWorld(server);
  targets = await createTargets(server, world);
  moderator = (await issueToken(server, world, 'moderate')).token;
  reader = (await issueToken(server, world, 'read')).token;
});
afterAll(() => server.close());

const info = { name: 'a-client', version: '1.0.0' };

interface Result {
  content: { text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** What the clients have in common, as far as it is tried here. */
interface Connected {
  version: string | undefined;
  names: string[];
  call(name: string, args: Record<string, unknown>): Promise<Result>;
  close(): Promise<void>;
}

const url = () => new URL(`${server.baseUrl}/api/v1/mcp`);
const withToken = (token: string) => ({ requestInit: { headers: { authorization: `Bearer ${token}` } } });

async function connectNew(token: string, mode: 'auto' | 'legacy' | { pin: string }): Promise<Connected> {
  const client = new Client(info, { versionNegotiation: { mode } });
  await client.connect(new StreamableHTTPClientTransport(url(), withToken(token)));
  expect(client.getInstructions()).toContain('get_token');
  const { tools } = await client.listTools();
  return {
    version: client.getNegotiatedProtocolVersion(),
    names: tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Result,
    close: () => client.close(),
  };
}

async function connectOld(token: string): Promise<Connected> {
  const client = new OldClient(info);
  const transport = new OldTransport(url(), withToken(token));
  await client.connect(transport as Parameters<OldClient['connect']>[0]);
  expect(client.getInstructions()).toContain('get_token');
  // Having listed them, the client holds what is answered against the schemas.
  const { tools } = await client.listTools();
  return {
    version: transport.protocolVersion,
    names: tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Result,
    close: () => client.close(),
  };
}

const clients: { client: string; version: string; connect(token: string): Promise<Connected> }[] = [
  { client: 'client 2.4, negotiating', version: '2026-07-28', connect: token => connectNew(token, 'auto') },
  { client: 'client 2.4, pinned', version: '2026-07-28', connect: token => connectNew(token, { pin: '2026-07-28' }) },
  { client: 'client 2.4, as before 2026', version: '2025-11-25', connect: token => connectNew(token, 'legacy') },
  { client: 'sdk 1.32', version: '2025-11-25', connect: connectOld },
];

describe.each(clients)('$client', ({ version, connect }) => {
  test('speaks its revision, sees the tools, and gets results that its own checks take', async () => {
    const client = await connect(moderator);
    expect(client.version).toBe(version);
    expect(client.names).toHaveLength(13);

    const { ideaId, targetId, mergedId, tagId } = targets;
    const created = await client.call('create_idea', { title: 'An idea', body: 'About it.' });
    const calls: [name: string, args: Record<string, unknown>][] = [
      ['get_token', {}],
      ['get_board', {}],
      ['list_ideas', { q: 'the', per_page: 1 }],
      ['get_idea', { id: ideaId }],
      ['vote_idea', { id: ideaId, value: 'up' }],
      ['comment_on_idea', { id: created.structuredContent?.id, body: 'More about it.' }],
      ['list_comments', { id: ideaId }],
      ['set_idea_status', { id: ideaId, status: 'planned' }],
      ['add_idea_tag', { id: ideaId, tag_id: tagId }],
      ['remove_idea_tag', { id: ideaId, tag_id: tagId }],
      ['unmerge_idea', { id: mergedId }],
      ['merge_ideas', { id: mergedId, target_id: targetId }],
    ];
    for (const [name, args] of calls) {
      const result = await client.call(name, args);
      expect([name, result.isError ?? false]).toEqual([name, false]);
      expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(result.structuredContent);
    }
    await client.close();
  });

  test('is told of a refusal as of a result, which its checks take too', async () => {
    const client = await connect(reader);
    const refused = await client.call('vote_idea', { id: targets.ideaId, value: 'up' });
    expect(refused.isError).toBe(true);
    expect(refused.content[0]?.text).toContain('"insufficient_scope"');
    const missing = await client.call('get_idea', { id: 999_999_999 });
    expect(missing.content[0]?.text).toContain('"not_found"');
    await client.close();
  });

  test('fails to connect without a valid token', async () => {
    await expect(connect('ib_1_no-such-secret')).rejects.toThrow();
  });
});
