import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { UnauthorizedError as OldUnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedIn, type Visitor } from '../admin/visitor.ts';
import { createWorld, insertIdea, type World } from '../helpers/fixtures.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import type { TestServer } from '../helpers/server.ts';
import { callback, finish, levelFields } from './program.ts';
import { Remembering } from './remembering.ts';

let server: TestServer;
let world: World;
let visitor: Visitor;

beforeAll(async () => {
  server = await startPublicServer();
  world = await createWorld(server);
  visitor = await signedIn(server, world.ownerId);
  await insertIdea(server, world, { title: 'Dark mode' });
});
afterAll(() => server.close());

const identity = { name: 'a client', version: '1' };

/** The two versions of the SDK, as far as they are different. */
const versions = [
  {
    name: '2.4',
    Unauthorized: UnauthorizedError,
    open(authProvider: Remembering) {
      const transport = new StreamableHTTPClientTransport(new URL(`${server.config.BASE_URL}/api/v1/mcp`), {
        authProvider,
      });
      const client = new Client(identity);
      return {
        connect: () => client.connect(transport),
        finish: (answer: URL) => transport.finishAuth(answer.searchParams),
        call: (name: string, given: Record<string, unknown>) => client.callTool({ name, arguments: given }),
        close: () => client.close(),
      };
    },
  },
  {
    name: '1.32',
    Unauthorized: OldUnauthorizedError,
    open(authProvider: Remembering) {
      const transport = new OldTransport(new URL(`${server.config.BASE_URL}/api/v1/mcp`), { authProvider });
      const client = new OldClient(identity);
      return {
        connect: () => client.connect(transport as never),
        finish: (answer: URL) => transport.finishAuth(answer.searchParams.get('code') ?? ''),
        call: (name: string, given: Record<string, unknown>) => client.callTool({ name, arguments: given }),
        close: () => client.close(),
      };
    },
  },
];

test.each(versions)(
  'the official client $name gets from nothing to calls of tools, refreshes, and is refused when it is revoked',
  async ({ open, Unauthorized }) => {
    const memory = new Remembering(callback);
    const first = open(memory);
    // 401, discovery, registration: the person has to be asked.
    await expect(first.connect()).rejects.toBeInstanceOf(Unauthorized);
    const { pathname = '', search = '' } = memory.sentTo ?? {};
    const { location } = await visitor.get(pathname + search);
    const page = location ?? '';
    const answer = await visitor.submit(page, page, {
      ...levelFields({ [world.boardId]: 'write' }),
      decision: 'connect',
    });
    await first.finish(await finish(visitor, answer));
    await first.close();

    const client = open(memory);
    await client.connect();
    const listed = await client.call('list_ideas', { q: 'dark' });
    expect(listed.structuredContent).toMatchObject({ data: [{ title: 'Dark mode' }] });
    const created = await client.call('create_idea', { title: 'Light mode', body: 'For early mornings.' });
    expect(created.structuredContent).toMatchObject({ title: 'Light mode', author: { id: world.ownerId } });

    const before = memory.held;
    await server.sql(`update oauth_records set expires_at = now() - interval '1 second' where model = 'AccessToken'`);
    const again = await client.call('list_ideas', { q: 'dark' });
    expect(again.structuredContent).toMatchObject({ data: [{}] });
    expect(memory.held?.access_token).not.toBe(before?.access_token);
    expect(memory.held?.refresh_token).not.toBe(before?.refresh_token);

    const [token] = await server.sql<{ id: number }>('select max(id) as id from api_tokens');
    const path = `/admin/tokens/${token?.id}/revoke`;
    expect((await visitor.submit(path, path)).status).toBe(303);
    memory.sentTo = undefined;
    // It asks for consent anew: nothing that it has is good for anything.
    await expect(client.call('list_ideas', {})).rejects.toBeInstanceOf(Unauthorized);
    expect(memory.sentTo).toBeDefined();
    await client.close();
  },
);
