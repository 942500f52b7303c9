import { createHash, timingSafeEqual } from 'node:crypto';
import fastify, { type FastifyRequest } from 'fastify';
import pg from 'pg';
import { answerCalls, readUsage } from '../answer-calls.ts';
import { serverTimeCalls } from '../server-times.ts';
import * as sql from './statements.ts';
import * as writes from './write-statements.ts';

/**
 * This program is the "floor" of the API benchmark: a minimal server with the same libraries and answers as ours. For
 * each request it looks up the token hash, counts one rate limit, and runs one prepared query. The floor does not
 * validate requests or write a log. Its answers have no ETag, request id or error body.
 */
const limit = 1_000_000_000;
const readWindowMs = 60_000;
const writeWindowMs = 3_600_000;

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 16 });
// Parses ids as JavaScript numbers. The ids of the benchmark are small enough, so they need no BigInt or text.
pg.types.setTypeParser(pg.types.builtins.INT8, Number);
await pool.query(sql.defineVote);
await pool.query(writes.defineWrites);

class Refusal extends Error {
  readonly statusCode: number;

  constructor(statusCode: number) {
    super('refused');
    this.statusCode = statusCode;
  }
}

interface Bearer {
  account_id: number;
  voter_id: number;
  board_id: number;
  user_id: number;
  token_id: number;
}

async function authenticate(request: FastifyRequest, bucket: string, windowMs: number): Promise<Bearer> {
  // The header has the format: Bearer ib_<id>_<secret>
  const header = request.headers.authorization ?? '';
  const separator = header.indexOf('_', 10);
  const hash = createHash('sha256')
    .update(header.slice(separator + 1))
    .digest();
  const id = header.slice(10, separator);
  const startedAt = Math.floor(Date.now() / windowMs) * windowMs;
  const { rows } = await pool.query({
    name: 'authenticate',
    text: sql.authenticate,
    values: [id, hash, `${bucket}:${id}`, new Date(startedAt), new Date(startedAt + windowMs)],
  });
  const [row] = rows;
  if (!row || !timingSafeEqual(row.secret_hash, hash)) throw new Refusal(401);
  if (row.count > limit) throw new Refusal(429);
  return row;
}

const app = fastify();

app.get<{ Querystring: { q?: string } }>('/api/v1/ideas', async request => {
  const { q } = request.query;
  const { account_id, board_id, voter_id } = await authenticate(request, 'apitoken:read', readWindowMs);
  const values = [account_id, board_id, voter_id];
  const { rows } =
    q === undefined
      ? await pool.query({ name: 'list_ideas', text: sql.listIdeas, values })
      : await pool.query(sql.searchIdeas, [...values, q]);
  const hasMore = rows.length > 20;
  if (hasMore) rows.pop();
  const last = rows.at(-1);
  const cursor = Buffer.from(JSON.stringify(['newest', last?.created_at, last?.id])).toString('base64url');
  return { data: rows, page: 1, per_page: 20, has_more: hasMore, next_cursor: hasMore ? cursor : null };
});

app.get<{ Params: { id: string } }>('/api/v1/ideas/:id', async request => {
  const { account_id, board_id, voter_id } = await authenticate(request, 'apitoken:read', readWindowMs);
  const values = [account_id, board_id, voter_id, request.params.id];
  const { rows } = await pool.query({ name: 'select_idea', text: sql.selectIdea, values });
  if (rows.length === 0) throw new Refusal(404);
  return rows[0];
});

const numberOfVote: Record<string, number> = { up: 1, down: -1, none: 0 };

app.post<{ Params: { id: string }; Body: { value: string } }>('/api/v1/ideas/:id/vote', async request => {
  const { account_id, board_id, voter_id } = await authenticate(request, 'apitoken:write', writeWindowMs);
  const { value } = request.body;
  const values = [account_id, board_id, voter_id, request.params.id, numberOfVote[value]];
  const { rows } = await pool.query({ name: 'cast_vote', text: sql.castVote, values });
  if (rows.length === 0) throw new Refusal(404);
  const { up_count, down_count } = rows[0];
  return { score: up_count - down_count, my_vote: value, up_count, down_count };
});

app.get<{ Querystring: { title: string; body: string } }>('/api/v1/ideas/similar', async request => {
  const { account_id, board_id, voter_id } = await authenticate(request, 'apitoken:read', readWindowMs);
  const { title, body } = request.query;
  const values = [account_id, board_id, voter_id, title, body];
  const { rows } = await pool.query({ name: 'similar_ideas', text: sql.similarIdeas, values });
  return { data: rows };
});

/** Runs a database function of `write-statements.ts`. */
async function write(request: FastifyRequest, name: keyof typeof writes.calls, given: unknown[]) {
  const bearer = await authenticate(request, 'apitoken:write', writeWindowMs);
  const values = [bearer.account_id, bearer.board_id, bearer.user_id, bearer.token_id, ...given];
  const { rows } = await pool.query({ name: `floor_${name}`, text: writes.calls[name], values });
  if (rows.length === 0) throw new Refusal(404);
  return { bearer, rows };
}

/** Runs a database function that returns ids of ideas, and reads these ideas. */
async function change(request: FastifyRequest, name: keyof typeof writes.calls, given: unknown[]) {
  const { bearer, rows } = await write(request, name, given);
  const { account_id, board_id, voter_id } = bearer;
  const ideas = rows.map(({ id }) =>
    pool.query({ name: 'select_idea', text: sql.selectIdea, values: [account_id, board_id, voter_id, id] }),
  );
  return (await Promise.all(ideas)).map(({ rows }) => rows[0]);
}

app.post<{ Body: { title: string; body: string } }>('/api/v1/ideas', async (request, reply) => {
  const [idea] = await change(request, 'create', [request.body.title, request.body.body]);
  reply.status(201);
  return idea;
});

interface OnIdea {
  Params: { id: string };
}

app.post<OnIdea & { Body: { body: string } }>('/api/v1/ideas/:id/comments', async (request, reply) => {
  const { rows } = await write(request, 'comment', [request.params.id, request.body.body]);
  reply.status(201);
  return rows[0];
});

app.post<OnIdea & { Body: { status: string } }>('/api/v1/ideas/:id/status', async request => {
  const [idea] = await change(request, 'status', [request.params.id, request.body.status]);
  return idea;
});

app.post<OnIdea & { Body: { tag_id: number } }>('/api/v1/ideas/:id/tags', async request => {
  const [idea] = await change(request, 'tag', [request.params.id, request.body.tag_id]);
  return idea;
});

app.post<OnIdea & { Body: { target_id: number } }>('/api/v1/ideas/:id/merge', async request => {
  const [idea, target] = await change(request, 'merge', [request.params.id, request.body.target_id]);
  return { idea, target };
});

app.post<OnIdea>('/api/v1/ideas/:id/unmerge', async request => {
  const [idea, target = null] = await change(request, 'unmerge', [request.params.id]);
  return { idea, target };
});

const baseUrl = await app.listen({ host: '127.0.0.1', port: 0 });

const actions = { url: () => baseUrl, usage: readUsage, ...serverTimeCalls };
answerCalls<keyof typeof actions>(message => actions[message]());
