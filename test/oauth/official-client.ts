import { Client, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';
import { UnauthorizedError as OldUnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { expect } from 'vitest';
import type { Visitor } from '../admin/visitor.ts';
import type { World } from '../helpers/fixtures.ts';
import type { TestServer } from '../helpers/server.ts';
import { callback, finish, levelFields } from './program.ts';
import { Remembering } from './remembering.ts';

const identity = { name: 'a client', version: '1' };

/** The clients of two versions of the MCP SDK, with a common interface. */
export const versions = [
  {
    name: '2.4',
    Unauthorized: UnauthorizedError,
    open(server: TestServer, authProvider: Remembering, { send = fetch, query = '' } = {}) {
      const transport = new StreamableHTTPClientTransport(addressOf(server, query), { authProvider, fetch: send });
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
    open(server: TestServer, authProvider: Remembering, { send = fetch, query = '' } = {}) {
      const transport = new OldTransport(addressOf(server, query), { authProvider, fetch: send });
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

type Version = (typeof versions)[number];

/** Connects a client of the MCP SDK with a person's consent. Returns the OAuth data that the client has stored. */
export async function connectClient(
  { open, Unauthorized }: Version,
  { server, visitor, world, query = '' }: { server: TestServer; visitor: Visitor; world: World; query?: string },
): Promise<Remembering> {
  const memory = new Remembering(callback);
  const client = open(server, memory, { query });
  // The first connection attempt gets 401. The client then discovers the OAuth server, registers, and needs the consent
  // of the person.
  await expect(client.connect()).rejects.toBeInstanceOf(Unauthorized);
  const { pathname = '', search = '' } = memory.sentTo ?? {};
  const { location } = await visitor.get(pathname + search);
  const page = location ?? '';
  const answer = await visitor.submit(page, page, {
    ...levelFields({ [world.boardId]: 'write' }),
    decision: 'connect',
  });
  await client.finish(await finish(visitor, answer));
  await client.close();
  memory.sentTo = undefined;
  return memory;
}

/**
 * Sends requests. Delays each token refresh until the given number of calls have got 401 since the last reset. So all
 * these calls need the same refresh. Without the delay, version 1.32 of the SDK may lose a call. This version gives up
 * if a call gets 401 after another call has refreshed the token.
 */
export class HeldRefreshes {
  #missing = 0;
  #all = Promise.withResolvers<void>();

  reset(count: number) {
    this.#missing = count;
    this.#all = Promise.withResolvers<void>();
  }

  send: typeof fetch = async (url, init) => {
    if (String(url).endsWith('/oauth/token')) await this.#all.promise;
    const response = await fetch(url, init);
    if (response.status === 401) this.#missing -= 1;
    if (this.#missing === 0) this.#all.resolve();
    return response;
  };
}

function addressOf({ config }: TestServer, query: string): URL {
  return new URL(`${config.BASE_URL}/api/v1/mcp${query}`);
}
