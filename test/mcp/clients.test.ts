import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';
import { createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { createTargets } from '../helpers/operations.ts';
import { startServerForFile } from '../helpers/server.ts';
import { argumentsOf } from './both-ways.ts';
import { buildSuccesses, tools } from './cases.ts';

const server = await startServerForFile();
const world = await createWorld(server);
const ideaId = await insertIdea(server, world);
const reader = (await issueToken(server, world, 'read')).token;

const info = { name: 'a-client', version: '1.0.0' };

interface Result {
  content: { text: string }[];
  structuredContent?: Record<string, unknown>;
  isError?: boolean;
}

/** A connected client. The tests use the clients of both SDK versions through this interface. */
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
  expect(client.getInstructions()).toContain('whoami');
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
  expect(client.getInstructions()).toContain('whoami');
  // After the client has listed the tools, it validates each tool result with the tool's output schema.
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
  test('a client of the official MCP SDK negotiates its protocol version, lists the tools, and accepts the results of all tools', async () => {
    const world = await createWorld(server);
    const targets = await createTargets(server, world);
    const client = await connect((await issueToken(server, world, 'moderate')).token);
    expect(client.version).toBe(version);
    expect(client.names).toEqual(tools.map(({ metadata }) => metadata.tool.name));

    for (const { operation, given } of buildSuccesses()) {
      const { name } = operation.metadata.tool;
      const args = argumentsOf(given(targets));
      const result = await client.call(name, args);
      expect([name, result.isError ?? false]).toEqual([name, false]);
      expect(JSON.parse(result.content[0]?.text ?? '')).toEqual(result.structuredContent);
    }
    await client.close();
  });

  test('a client of the official MCP SDK accepts a refused tool call as a valid result with an error', async () => {
    const client = await connect(reader);
    const refused = await client.call('vote_idea', { id: ideaId, value: 'up' });
    expect(refused.isError).toBe(true);
    expect(refused.content[0]?.text).toContain('"insufficient_scope"');
    const missing = await client.call('get_idea', { id: 999_999_999 });
    expect(missing.content[0]?.text).toContain('"not_found"');
    await client.close();
  });

  test('a client of the official MCP SDK with an invalid token fails to connect', async () => {
    await expect(connect('ib_1_no-such-secret')).rejects.toThrow();
  });
});
