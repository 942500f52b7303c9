import { expect, test } from 'vitest';
import {
  createBoard,
  createMember,
  createTag,
  createWorld,
  insertComment,
  insertIdea,
  issueToken,
} from '../helpers/fixtures.ts';
import { expectInvariants } from '../helpers/invariants.ts';
import { rawRequest } from '../helpers/raw-request.ts';
import type { Answer } from '../helpers/request.ts';
import { startServerForFile } from '../helpers/server.ts';
import { document, type FuzzRequest, type FuzzWorld, fuzzRequest, operations, resolve } from './requests.ts';

/**
 * The number of requests. The command `npm run fuzz` sends 20,000 requests. To send other requests, set
 * FUZZ_SEED=$RANDOM.
 */
const count = Number(process.env.FUZZ_REQUESTS ?? 2_150);
const seed = Number(process.env.FUZZ_SEED ?? 20_260_314);
const parallel = 16;

let world: FuzzWorld;

const server = await startServerForFile();
world = await createFuzzWorld();

/** Creates the data for the requests: boards in every state, a second account, and tokens of every kind. */
async function createFuzzWorld(): Promise<FuzzWorld> {
  const open = await createWorld(server);
  const day = 86_400_000;
  const at = (days: number) => new Date(Date.now() + days * day);
  const others = [
    { preModeration: true },
    { isFrozen: true },
    { submissionsOpenAt: at(1), votingOpenAt: at(1) },
    { submissionsCloseAt: at(-1), votingCloseAt: at(-1) },
    {
      statuses: [
        { key: 'new', category: 'inbox', label: 'New' },
        { key: 'quiet', category: 'active', label: 'Quiet', allowVotes: false, allowComments: false },
        { key: 'open', category: 'archived', label: 'Hidden', isHidden: true },
      ],
    },
  ] satisfies Parameters<typeof createBoard>[2][];
  const boards = [{ id: open.boardId, slug: open.boardSlug }];
  for (const settings of others) boards.push(await createBoard(server, open.accountId, settings));
  const custom = boards.at(-1);
  const stranger = await createWorld(server);

  let maxIdeaId = 0;
  let maxTagId = 0;
  for (const { id: boardId } of boards) {
    const world = { ...open, boardId };
    const status = boardId === custom?.id ? 'new' : 'open';
    for (let n = 0; n < 8; n++) {
      const moderationState = n === 0 ? 'pending' : n === 1 ? 'rejected' : 'published';
      maxIdeaId = await insertIdea(server, world, { status, moderationState });
    }
    // The first board has most of the ideas, so it also gets most of the tags. Otherwise few requests would add a tag.
    const tagCount = boardId === open.boardId ? 20 : 3;
    for (let n = 0; n < tagCount; n++) maxTagId = await createTag(server, open.accountId, boardId);
  }
  const comments: { id: number; commentId: number }[] = [];
  for (let n = 0; n < 40; n++) {
    const id = await insertIdea(server, open);
    comments.push({ id, commentId: await insertComment(server, open, id) });
  }
  const notes = await server.sql<FuzzWorld['notes'][number]>(
    `insert into idea_notes (account_id, idea_id, author_id, body)
    select $1, id, $2, 'The note' from unnest($3::bigint[]) id returning idea_id as id, id as "noteId"`,
    [open.accountId, open.ownerId, comments.map(({ id }) => id)],
  );
  const webhooks = await server.sql<FuzzWorld['webhooks'][number]>(
    `with webhook as (
      insert into webhook_endpoints (account_id, board_id, url, secret)
      select $1, $2, 'https://hooks.example.com/' || n, 'sealed' from generate_series(1, 60) n returning id
    ), event as (
      insert into events (account_id, type, data, body, occurred_at)
      values ($1, 'webhook.test', '{}', '{"type":"webhook.test"}', now()) returning id
    )
    insert into webhook_deliveries (account_id, endpoint_id, event_id, state, finished_at)
    select $1, webhook.id, event.id, 'dead', now() from webhook cross join event
    returning endpoint_id as "webhookId", id as "deliveryId"`,
    [open.accountId, open.boardId],
  );
  maxIdeaId = await insertIdea(server, stranger);
  maxTagId = await createTag(server, stranger.accountId, stranger.boardId);

  const member = await createMember(server, open.accountId, 'admin');
  const demoted = await createMember(server, open.accountId, 'owner');
  const blocked = await createMember(server, open.accountId, 'owner');
  const everywhere = Object.fromEntries(boards.map(({ id }) => [id, 'moderate' as const]));
  const slugs = boards.map(({ slug }) => slug);
  const here = [open.boardSlug];
  const token = async (...given: [grant: Parameters<typeof issueToken>[2], issuerId?: number]) =>
    (await issueToken(server, open, given[0], given[1] === undefined ? {} : { issuerId: given[1] })).token;
  const revoked = await issueToken(server, open, 'moderate');
  const tokens = [
    { token: await token(everywhere), slugs },
    { token: await token('moderate', member), slugs: here },
    { token: await token('moderate'), slugs: here },
    { token: await token('write', member), slugs: here },
    { token: await token('write'), slugs: here },
    { token: await token('read'), slugs: here },
    { token: await token('moderate', demoted), slugs: here },
    { token: await token('moderate', blocked), slugs: here },
    { token: (await issueToken(server, stranger, 'moderate')).token, slugs: [stranger.boardSlug] },
  ];
  await server.sql(`update memberships set role = 'member' where user_id = $1`, [demoted]);
  await server.sql('insert into user_blocks (account_id, user_id) values ($1, $2)', [open.accountId, blocked]);
  await server.sql('update api_tokens set revoked_at = now() where id = $1', [revoked.id]);
  // The readiness probe answers 503 if there is no recent heartbeat of cron. So the test inserts a heartbeat.
  await server.sql(`insert into heartbeats (name, recorded_at) values ('cron', now())`);
  const cursors = await Promise.all(
    ['', '&sort=top'].map(async query => {
      const path = `/api/v1/ideas?per_page=1${query}`;
      return (await rawRequest(server, 'GET', path, { token: tokens[1]?.token })).body.next_cursor as string;
    }),
  );
  return {
    tokens,
    badTokens: [revoked.token, 'x', '', 'ib_1_x', `${tokens[1]?.token}x`, `ib_99999_${'A'.repeat(43)}`],
    statusKeys: ['open', 'planned', 'in_progress', 'done', 'declined', 'archived', 'new', 'quiet', 'unknown'],
    // Requests also use ids above the id of the last idea, because other requests may have created ideas with these
    // ids.
    maxIdeaId: maxIdeaId + 60,
    maxTagId: maxTagId + 2,
    cursors,
    comments,
    notes,
    webhooks,
  };
}

// Paths without parameters come first, because the pattern of a path with a parameter can also match them.
const patterns = operations
  .toSorted((one, other) => Number(one.path.includes('{')) - Number(other.path.includes('{')))
  .map(one => ({
    ...one,
    pattern: new RegExp(`^${one.path.replace(/\{\w+\}/g, '[^/]*')}$`),
  }));

const invalidKeys = new Set<string | undefined>([
  'validation_failed',
  'malformed_json',
  'payload_too_large',
  'unsupported_media_type',
  'method_not_allowed',
]);

/** Returns a difference between a response and the OpenAPI document. In the body, checks only the top-level fields. */
function problemOf({ operationId, method, path, isValid }: FuzzRequest, answer: Answer): string | undefined {
  // On a busy machine, the database may answer later than the readiness probe waits.
  if (operationId === 'getReadiness' && answer.status === 503) return undefined;
  if (answer.status >= 500) return 'the server failed';
  if (isValid && invalidKeys.has(answer.key)) return 'a valid request was rejected as invalid';
  const pathname = path.split('?')[0] ?? '';
  const read = method === 'HEAD' ? 'GET' : method;
  const declared = patterns.find(one => one.method === read && one.pattern.test(pathname));
  if (!declared) return [404, 405].includes(answer.status) ? undefined : 'an unknown path was answered';
  const response = declared.operation.responses[answer.status];
  if (!response) return 'the status is not declared';
  if (method === 'HEAD' || [202, 304].includes(answer.status))
    return answer.text === '' ? undefined : 'there is a body';
  const schema = response.content?.['application/json']?.schema;
  if (!schema || answer.body === null) return 'there is no body, or none is declared';
  const { properties } = resolve(schema);
  for (const field of Object.keys(answer.body)) if (!properties?.[field]) return `the field ${field} is not declared`;
  const keys = properties?.error?.properties?.key?.enum;
  if (answer.key && !keys?.includes(answer.key)) return `the key ${answer.key} is not declared`;
  if (answer.status >= 400 && !answer.key) return 'an error without a key';
  return undefined;
}

test(`${count} valid and invalid requests cause no server error, no undocumented response and no inconsistent data`, {
  timeout: 60_000 + count * 20,
}, async () => {
  const problems: unknown[] = [];
  const seen = new Map<string, Map<number, number>>();
  let next = 0;
  const client = async () => {
    for (let number = next++; number < count; number = next++) {
      const one = fuzzRequest(seed, number, world);
      const answer = await rawRequest(server, one.method, one.path, one);
      const problem = problemOf(one, answer);
      if (problem) problems.push({ seed, number, problem, request: one, status: answer.status, text: answer.text });
      const statuses = seen.get(one.operationId) ?? new Map<number, number>();
      seen.set(one.operationId, statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1));
    }
  };
  await Promise.all(Array.from({ length: parallel }, client));
  expect(problems.slice(0, 5), `with FUZZ_SEED=${seed}`).toEqual([]);
  await expectInvariants(server);
  expect(server.logLines.filter(line => /"level":(50|60)/.test(line))).toEqual([]);
  expectCoverage(seen);
});

/**
 * Fails unless many requests succeeded. Also fails unless each operation except a probe answered with success, with 401
 * and with 422.
 */
function expectCoverage(seen: Map<string, Map<number, number>>) {
  const total = (wanted: (status: number) => boolean) =>
    [...seen.values()]
      .flatMap(statuses => [...statuses])
      .reduce((sum, [status, n]) => sum + (wanted(status) ? n : 0), 0);
  expect(seen.size).toBe(operations.length);
  expect(total(status => status < 300) / count).toBeGreaterThan(0.2);
  expect(total(status => status === 422) / count).toBeGreaterThan(0.08);
  for (const { operation } of operations) {
    const statuses = seen.get(operation.operationId) ?? new Map();
    const isProbe = operation.responses[401] === undefined;
    const expected = isProbe
      ? []
      : [200, 401, 422].map(status => (status === 200 && operation.responses[201] ? 201 : status));
    for (const status of expected)
      expect([operation.operationId, status, statuses.has(status)]).toEqual([operation.operationId, status, true]);
  }
}

test('every schema reference in the OpenAPI document resolves', () => {
  for (const [, name] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    expect(document.components.schemas).toHaveProperty(name ?? '');
  }
});
