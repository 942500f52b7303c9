import { expect, test } from 'vitest';
import { signedIn } from '../admin/visitor.ts';
import { createWorld, insertIdea } from '../helpers/fixtures.ts';
import { closeAfterAll } from '../helpers/for-file.ts';
import { startPublicServer } from '../helpers/public-server.ts';
import { connectClient, HeldRefreshes, versions } from './official-client.ts';

const server = closeAfterAll(await startPublicServer());
const world = await createWorld(server);
const visitor = await signedIn(server, world.ownerId);
await insertIdea(server, world, { title: 'Dark mode' });

const expireAccessTokens = () =>
  server.sql(`update oauth_records set expires_at = now() - interval '1 second' where model = 'AccessToken'`);

test.each(versions)(
  'the client of MCP SDK $name connects, calls tools, refreshes its token, and is refused after the token is revoked',
  async version => {
    const memory = await connectClient(version, { server, visitor, world });
    const client = version.open(server, memory);
    await client.connect();
    const listed = await client.call('list_ideas', { q: 'dark' });
    expect(listed.structuredContent).toMatchObject({ data: [{ title: 'Dark mode' }] });
    const created = await client.call('create_idea', { title: 'Light mode', body: 'For early mornings.' });
    expect(created.structuredContent).toMatchObject({ title: 'Light mode', author: { id: world.ownerId } });

    const before = memory.held;
    await expireAccessTokens();
    const again = await client.call('list_ideas', { q: 'dark' });
    expect(again.structuredContent).toMatchObject({ data: [{}] });
    expect(memory.held?.access_token).not.toBe(before?.access_token);
    expect(memory.held?.refresh_token).not.toBe(before?.refresh_token);

    const [token] = await server.sql<{ id: number }>('select max(id) as id from api_tokens');
    const path = `/admin/tokens/${token?.id}/revoke`;
    expect((await visitor.submit(path, path)).status).toBe(303);
    // All tokens of the client are invalid, so the client asks for consent again.
    await expect(client.call('list_ideas', {})).rejects.toBeInstanceOf(version.Unauthorized);
    expect(memory.sentTo).toBeDefined();
    await client.close();
  },
);

test.each(versions.flatMap(version => [2, 5].map(count => ({ ...version, count }))))(
  'the client of MCP SDK $name completes all calls and stays connected when $count parallel calls use an expired access token',
  async ({ count, ...version }) => {
    const rounds = 8;
    const memory = await connectClient(version, { server, visitor, world });
    const refreshes = new HeldRefreshes();
    const client = version.open(server, memory, { send: refreshes.send });
    await client.connect();
    for (let round = 0; round < rounds; round++) {
      await expireAccessTokens();
      refreshes.reset(count);
      const calls = Array.from({ length: count }, () => client.call('list_ideas', { q: 'dark' }));
      for (const { structuredContent } of await Promise.all(calls)) {
        expect(structuredContent).toMatchObject({ data: [{ title: 'Dark mode' }] });
      }
    }
    await client.close();
    expect(memory.sentTo).toBeUndefined();
    const [token] = await server.sql<{ is_live: boolean; siblings: number; parents: number }>(
      `select t.revoked_at is null as is_live, count(*)::int as siblings, count(distinct r.parent_hash)::int as parents
      from api_tokens t join oauth_records r on r.token_id = t.id and r.parent_hash is not null
      group by t.account_id, t.id order by t.id desc limit 1`,
    );
    expect(token).toEqual({ is_live: true, siblings: rounds * count, parents: rounds });
  },
);

test.each(versions)(
  'the client of MCP SDK $name can connect through the read-only URL, and can then write with the same tokens through the usual URL',
  async version => {
    const query = '?readonly=true';
    const memory = await connectClient(version, { server, visitor, world, query });
    const reading = version.open(server, memory, { query });
    await reading.connect();
    expect(await reading.call('list_ideas', { q: 'dark' })).toMatchObject({ structuredContent: { data: [{}] } });
    const refused = await reading.call('create_idea', { title: 'Written while reading', body: 'B' });
    expect(refused).toMatchObject({ isError: true });
    await reading.close();
    const writing = version.open(server, memory);
    await writing.connect();
    const created = await writing.call('create_idea', { title: 'Written while writing', body: 'B' });
    expect(created).toMatchObject({ structuredContent: { title: 'Written while writing' } });
    await writing.close();
    const written = await server.sql(`select title from ideas where title like 'Written while%' order by id`);
    expect(written.map(({ title }) => title)).toContain('Written while writing');
    expect(written.map(({ title }) => title)).not.toContain('Written while reading');
    await server.sql(`delete from ideas where title = 'Written while writing'`);
  },
);
