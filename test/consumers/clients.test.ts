import { beforeAll, expect, test } from 'vitest';
import { compilingMs } from '../client/packed.ts';
import { createWorld, issueToken } from '../helpers/fixtures.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { consume } from './consumer.ts';
import { heyApi } from './hey-api.ts';
import { openapiFetch } from './openapi-fetch.ts';
import { orval } from './orval.ts';

let server: TestServer;

beforeAll(async () => {
  server = await startServer();
  return () => server.close();
});

// The tests run concurrently, because each test mostly waits for the processes that it has started.
test.concurrent.each([openapiFetch, heyApi, orval])(
  'the client that the tool $name generates from the OpenAPI document compiles in strict TypeScript, and its calls to the server succeed',
  async consumer => {
    const world = await createWorld(server);
    const [{ token: write }, { token: read }] = await Promise.all([
      issueToken(server, world, 'write'),
      issueToken(server, world, 'read'),
    ]);

    const outcome = await consume(consumer, server.baseUrl, { write, read });

    expect(outcome).toMatchObject({
      created: { id: expect.any(Number), title: 'Dark mode', moderation_state: 'published' },
      tally: { score: 1, my_vote: 'up', up_count: 1, down_count: 0 },
      titles: ['Dark mode'],
      refusal: { status: 403, key: 'insufficient_scope' },
    });
    const ideas = await server.sql<{ id: number; up_count: number }>(
      'select id, up_count from ideas where board_id = $1',
      [world.boardId],
    );
    expect(ideas).toEqual([{ id: outcome.created.id, up_count: 1 }]);
  },
  compilingMs,
);
