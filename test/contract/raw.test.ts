import { describe, expect, test } from 'vitest';
import { createClient } from '../../contract/raw.ts';
import { createBoard, createWorld, issueToken } from '../helpers/fixtures.ts';
import { startServerForFile } from '../helpers/server.ts';

const server = await startServerForFile();
const world = await createWorld(server);

async function clientWith(grant: 'read' | 'write' | 'moderate', board?: string) {
  const { token } = await issueToken(server, world, grant);
  return createClient({ baseUrl: server.baseUrl, token, ...(board === undefined ? {} : { board }) });
}

describe('the raw client', () => {
  test('the raw ts-rest client can create, read and list ideas, vote and comment over real HTTP', async () => {
    const client = await clientWith('write');
    const created = await client.createIdea({ body: { title: 'Dark mode', body: 'For late evenings.' } });
    if (created.status !== 201) throw new Error(`answered ${created.status}`);
    const { id } = created.body;

    const vote = await client.voteIdea({ params: { id }, body: { value: 'up' } });
    expect(vote).toMatchObject({ status: 200, body: { score: 1, my_vote: 'up' } });
    const comment = await client.commentOnIdea({ params: { id }, body: { body: 'Please.' } });
    expect(comment).toMatchObject({ status: 201, body: { idea_id: id, body: 'Please.' } });

    const idea = await client.getIdea({ params: { id } });
    expect(idea).toMatchObject({ status: 200, body: { id, title: 'Dark mode', score: 1, comment_count: 1 } });
    const list = await client.listIdeas({ query: { q: 'dar', per_page: 5 } });
    expect(list).toMatchObject({ status: 200, body: { data: [{ id }], has_more: false } });
  });

  test('the raw ts-rest client returns an error with its HTTP status and error key, and the type of the key depends on the operation', async () => {
    const client = await clientWith('read');
    const answer = await client.createIdea({ body: { title: 'Dark mode', body: 'For late evenings.' } });
    expect(answer.status).toBe(403);
    if (answer.status === 403) {
      const key:
        | 'insufficient_scope'
        | 'board_not_granted'
        | 'agent_api_unavailable'
        | 'network_not_allowed'
        | 'user_blocked' = answer.body.error.key;
      expect(key).toBe('insufficient_scope');
    }
  });

  test('the raw ts-rest client adds its board to a request of a board operation unless the request names another board', async () => {
    const other = await createBoard(server, world.accountId);
    const { token } = await issueToken(server, world, { [world.boardId]: 'read', [other.id]: 'read' });
    const client = createClient({ baseUrl: `${server.baseUrl}/`, token, board: world.boardSlug });
    expect(await client.getBoard()).toMatchObject({ status: 200, body: { board: { id: world.boardId } } });
    expect(await client.getBoard({ query: { board: other.slug } })).toMatchObject({
      status: 200,
      body: { board: { id: other.id } },
    });
    expect((await client.getToken()).status).toBe(200);
    expect((await client.getHealth()).status).toBe(200);
  });

  test('if a program repeats a request of the raw ts-rest client with the same Idempotency-Key, it gets the first response again', async () => {
    const client = await clientWith('write');
    const idea = { headers: { 'idempotency-key': 'once' }, body: { title: 'Once', body: 'Only.' } };
    const first = await client.createIdea(idea);
    const second = await client.createIdea(idea);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
  });
});
