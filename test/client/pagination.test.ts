import { expect, test } from 'vitest';
import { IdeaBoard } from '../../client/main.ts';
import { createMember, createWorld, insertIdea, issueToken } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';
import { type Gateway, startGatewayForTest } from './gateway.ts';

const ids: number[] = [];

const server = await startServerForFile();
const world = await createWorld(server);
const { token } = await issueToken(server, world, 'moderate');
for (let n = 0; n < 7; n += 1) ids.unshift(await insertIdea(server, world));

async function clientThroughGateway(): Promise<{ client: IdeaBoard; gateway: Gateway }> {
  const gateway = await startGatewayForTest(server.baseUrl);
  return { client: new IdeaBoard({ baseUrl: gateway.url, token }), gateway };
}

test('awaiting a list of the client requests one page, and awaiting the same list again sends no request', async () => {
  const { client, gateway } = await clientThroughGateway();
  const list = client.ideas.list({ per_page: 3 });
  expect(gateway.requests).toEqual([]);
  const [page, again] = [await list, await list];
  expect(page).toMatchObject({ page: 1, per_page: 3, has_more: true });
  expect(page.data.map(({ id }) => id)).toEqual(ids.slice(0, 3));
  expect(again).toBe(page);
  expect(gateway.requests.map(({ path }) => path)).toEqual(['/api/v1/ideas?per_page=3']);
});

test('iterating over a list of the client with `for await` returns all ideas and requests each page only when the loop needs it', async () => {
  const { client, gateway } = await clientThroughGateway();
  const seen: number[] = [];
  for await (const { id } of client.ideas.list({ per_page: 3, sort: 'newest' })) seen.push(id);
  expect(seen).toEqual(ids);
  expect(gateway.requests).toHaveLength(3);
  for (const { path } of gateway.requests.slice(1)) expect(path).toMatch(/\?per_page=3&sort=newest&cursor=[^&]+$/);

  for await (const { id } of client.ideas.list({ per_page: 3 })) if (id === ids[2]) break;
  expect(gateway.requests).toHaveLength(4);
});

test('if per_page is not set, iterating over a list of the client requests pages of 100 ideas, the maximum size', async () => {
  const { client, gateway } = await clientThroughGateway();
  const seen = [];
  for await (const { id } of client.ideas.list()) seen.push(id);
  expect(seen).toEqual(ids);
  expect(gateway.requests.map(({ path }) => path)).toEqual(['/api/v1/ideas?per_page=100']);
});

test('a list of the client with the empty parameter `ids` is empty', async () => {
  const { client } = await clientThroughGateway();
  expect((await client.ideas.list({ ids: [] })).data).toEqual([]);
  expect(await client.ideas.list({ ids: [] }).toArray({ limit: 10 })).toEqual([]);
});

test('if a program iterates over the ideas with given ids, the client sends one request that has only the query parameter `ids`', async () => {
  const { client, gateway } = await clientThroughGateway();
  const wanted = [ids[4] ?? 0, ids[1] ?? 0];
  const seen: number[] = [];
  for await (const { id } of client.ideas.list({ ids: wanted })) seen.push(id);
  expect(seen).toEqual(wanted);
  const some = await client.ideas.list({ ids: wanted }).toArray({ limit: 1 });
  expect(some.map(({ id }) => id)).toEqual(wanted.slice(0, 1));
  const path = `/api/v1/ideas?ids=${wanted.join('%2C')}`;
  expect(gateway.requests.map(one => one.path)).toEqual([path, path]);
});

test('the method toArray() of a list of the client returns no more entries than the limit, and requests no more pages than necessary', async () => {
  const { client, gateway } = await clientThroughGateway();
  const idsOf = async (limit: number, per_page?: number) =>
    (await client.ideas.list({ per_page }).toArray({ limit })).map(({ id }) => id);
  expect(await idsOf(4, 3)).toEqual(ids.slice(0, 4));
  expect(await idsOf(3, 3)).toEqual(ids.slice(0, 3));
  expect(gateway.requests).toHaveLength(3);
  expect(await idsOf(5)).toEqual(ids.slice(0, 5));
  expect(await idsOf(500)).toEqual(ids);
  expect(await idsOf(Number.POSITIVE_INFINITY, 4)).toEqual(ids);
  const sizes = gateway.requests.slice(3).map(({ path }) => /per_page=(\d+)/.exec(path)?.[1]);
  expect(sizes).toEqual(['5', '100', '4', '4']);
});

test('the method pages() of a list of the client iterates over pages and can start at a page after the first', async () => {
  const { client, gateway } = await clientThroughGateway();
  const sizes: number[] = [];
  for await (const { data, page } of client.ideas.list({ per_page: 2, page: 3 }).pages()) {
    sizes.push(data.length);
    expect(page).toBe(sizes.length === 1 ? 3 : null);
  }
  expect(sizes).toEqual([2, 1]);
  expect(gateway.requests[1]?.path).not.toMatch(/[?&]page=/);
});

test('each iteration over the same list of the client starts at the first page and sees new ideas', async () => {
  const otherWorld = await createWorld(server);
  const other = await issueToken(server, otherWorld, 'read');
  const list = new IdeaBoard({ baseUrl: server.baseUrl, token: other.token }).ideas.list();
  const count = async () => {
    let entries = 0;
    for await (const _ of list) entries += 1;
    return entries;
  };
  expect(await count()).toBe(0);
  await insertIdea(server, otherWorld);
  expect(await count()).toBe(1);
});

test('the client returns the oldest comment first when a program iterates over the comments of an idea', async () => {
  const { client } = await clientThroughGateway();
  const ideaId = ids[0] ?? 0;
  const second = await issueToken(server, world, 'write', {
    issuerId: await createMember(server, world.accountId, 'member'),
  });
  const clients = [client, new IdeaBoard({ baseUrl: server.baseUrl, token: second.token })];
  for (const n of [0, 1, 2]) await clients[n % 2]?.ideas.comment(ideaId, { body: `Number ${n}` });
  const seen: string[] = [];
  for await (const { body } of client.ideas.comments(ideaId, { per_page: 2 })) seen.push(body);
  expect(seen).toEqual(['Number 0', 'Number 1', 'Number 2']);
});

test('if a request fails while a program iterates over a list of the client, the loop throws the error of that request', async () => {
  const { client, gateway } = await clientThroughGateway();
  gateway.plan('pass', { status: 403, body: { error: { key: 'insufficient_scope', message: 'No more.' } } });
  const seen: number[] = [];
  const walk = async () => {
    for await (const { id } of client.ideas.list({ per_page: 3 })) seen.push(id);
  };
  await expect(walk()).rejects.toMatchObject({ key: 'insufficient_scope', operation: 'listIdeas' });
  expect(seen).toEqual(ids.slice(0, 3));
  await expect(client.ideas.list({ per_page: 0 })).rejects.toMatchObject({ key: 'validation_failed' });
});
