import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventTypes } from '../../contract/events.ts';
import { capabilities } from '../../contract/grants.ts';
import type { OperationId } from '../../contract/index.ts';
import { maxBoardsOfToken, maxStatusesOfBoard, maxTagsOfBoard, maxTagsOfIdea } from '../../contract/limits.ts';
import { type Json, toJsonSchema } from '../../contract/openapi/json-schema.ts';
import { addTag } from '../../server/domain/tags/board-tags.ts';
import { createToken } from '../../server/domain/tokens/change-tokens.ts';
import { operatorIn } from '../helpers/administration.ts';
import { createMember, createWorld, issueToken, type World } from '../helpers/fixtures.ts';
import { bodySchemaOf, inputOf } from '../helpers/operations.ts';
import { request } from '../helpers/request.ts';
import { startServer, type TestServer } from '../helpers/server.ts';
import { argumentsOf } from './both-ways.ts';
import { callTool } from './call-tool.ts';
import { type Operation, tools } from './cases.ts';

/*
 * The maximum length of the text in a tool's answer. A language model can usually read about 25,000 tokens of one
 * answer. 25,000 tokens are about 100,000 characters.
 */
const maxCharacters = 100_000;

/**
 * A quotation mark needs the most space in JSON, because JSON writes it as two characters. JSON would write some other
 * characters as six, but the API and the pages accept none of these (see the first test).
 */
const quotes = (count: number) => '"'.repeat(count);

let server: TestServer;
let world: World;
/** A token for the maximum number of boards. Its issuer is an admin. */
let token: string;
let slug: string;
let tagIds: number[];
let ideaIds: number[];
/** An idea with a full page of comments, votes and merged ideas. */
let commentedId: number;
let mergedId: number;
let commentId: number;
let noteId: number;
let webhookId: number;
let deliveryId: number;
const webhookUrl = `https://hooks.example.com/${'x'.repeat(1_970)}`;

/** Fills an account with the largest amount of data that the API and the pages accept. */
beforeAll(async () => {
  server = await startServer({ environment: { BASE_URL: `https://${'host.'.repeat(20)}example.com` } });
  // New rows get the longest ids that a JSON number can hold exactly.
  for (const table of ['accounts', 'users', 'boards', 'ideas', 'tags', 'comments', 'api_tokens']) {
    await server.sql(`alter table ${table} alter column id restart with 9007199254000000`);
  }
  slug = 'b'.repeat(63);
  world = await createWorld(server, {
    slug,
    name: quotes(100),
    description: quotes(5_000),
    submissionsOpenAt: new Date('2026-01-01T00:00:00Z'),
    submissionsCloseAt: new Date('2126-01-01T00:00:00Z'),
    votingOpenAt: new Date('2026-01-01T00:00:00Z'),
    votingCloseAt: new Date('2126-01-01T00:00:00Z'),
    statuses: Array.from({ length: maxStatusesOfBoard }, (_, n) => ({
      key: `${'k'.repeat(48)}${String(n).padStart(2, '0')}`,
      category: n === 0 ? ('inbox' as const) : ('completed' as const),
      label: quotes(60),
    })),
  });
  await server.sql('update accounts set name = $2 where id = $1', [world.accountId, quotes(100)]);
  tagIds = await server.database.transaction(async transaction => {
    const admin = operatorIn(transaction);
    const board = { id: world.boardId, accountId: world.accountId };
    const ids: number[] = [];
    for (let n = 0; n < maxTagsOfBoard; n++) {
      const name = `${n}${quotes(40 - String(n).length)}`;
      ids.push((await addTag(admin, board, { name, color: '#0f766e' })).id);
    }
    return ids;
  });
  const others = await server.sql<{ id: number }>(
    `insert into boards (account_id, slug, name)
    select $1, rpad('board-' || n || '-', 63, 'x'), $2 from generate_series(2, ${maxBoardsOfToken}) n returning id`,
    [world.accountId, quotes(100)],
  );
  const issuerId = await createMember(server, world.accountId, 'admin', quotes(100));
  const boards = [world.boardId, ...others.map(({ id }) => id)];
  const { plaintext } = await server.database.transaction(transaction =>
    createToken(operatorIn(transaction), {
      accountId: world.accountId,
      issuerId,
      name: quotes(100),
      boards: boards.map(boardId => ({ boardId, grant: 'moderate' })),
      capabilities,
    }),
  );
  token = plaintext;

  ideaIds = [];
  for (let n = 0; n < 22; n++) {
    const { id } = await rest('POST /api/v1/ideas', { title: quotes(200), body: quotes(10_000) });
    await rest(`POST /api/v1/ideas/${id}/status`, { status: `${'k'.repeat(48)}${maxStatusesOfBoard - 1}` });
    ideaIds.push(id);
  }
  await server.sql(
    `insert into idea_tags (account_id, idea_id, tag_id)
    select $1, idea, tag from unnest($2::bigint[]) idea, unnest($3::bigint[]) tag`,
    [world.accountId, ideaIds, tagIds.slice(0, maxTagsOfIdea - 1)],
  );
  // Every idea except the first has the maximum number of tags. The first idea gets its last tag later, from the tool
  // add_idea_tag.
  for (const id of ideaIds.slice(1)) {
    await rest(`POST /api/v1/ideas/${id}/tags`, { tag_id: tagIds[maxTagsOfIdea - 1] });
  }
  commentedId = ideaIds[1] ?? 0;
  const colleague = await createMember(server, world.accountId, 'moderator', quotes(100));
  const other = await issueToken(server, world, 'write', { issuerId: colleague });
  for (let n = 0; n < 22; n++) {
    const input = { body: quotes(500) };
    commentId = (await rest(`POST /api/v1/ideas/${commentedId}/comments`, input, n % 2 ? token : other.token)).id;
  }
  for (let n = 0; n < 22; n++) {
    noteId = (await rest(`POST /api/v1/ideas/${commentedId}/notes`, { body: quotes(2_000) })).id;
  }
  for (let n = 0; n < 22; n++) {
    const voter = await issueToken(server, world, 'write', { issuerId: colleague, name: quotes(100) });
    await rest(`POST /api/v1/ideas/${commentedId}/vote`, { value: 'up' }, voter.token);
  }
  for (let n = 0; n < 22; n++) {
    const { id } = await rest('POST /api/v1/ideas', { title: quotes(200), body: quotes(10_000) });
    await rest(`POST /api/v1/ideas/${id}/merge`, { target_id: commentedId });
    mergedId = id;
  }
  await server.sql('update ideas set up_count = 2000000000 where board_id = $1', [world.boardId]);
  for (let n = 0; n < 22; n++) {
    const input = { url: webhookUrl, description: quotes(200), event_types: eventTypes };
    webhookId = (await rest('POST /api/v1/webhooks', input)).id;
  }
  for (let n = 0; n < 22; n++) deliveryId = (await rest(`POST /api/v1/webhooks/${webhookId}/test`, undefined)).id;
  await server.sql(
    `insert into webhook_attempts (account_id, delivery_id, attempted_at, duration_ms, error)
    select account_id, id, now(), 10000, $1 from webhook_deliveries`,
    [quotes(300)],
  );
});
afterAll(() => server.close());

async function rest(line: string, json: unknown, by = token) {
  const answer = await request(server, `${line}?board=${slug}`, { token: by, json });
  expect(answer.status, answer.text.slice(0, 1_000)).toBeLessThan(300);
  return answer.body;
}

/** Calls a tool. Returns the answer and the number of characters in the answer's text. */
async function call(name: string, args: Record<string, unknown>) {
  const isOnBoard = tools.some(({ metadata }) => metadata.tool.name === name && metadata.auth === 'board');
  const { body } = await callTool(server, { token, name, args: isOnBoard ? { ...args, board: slug } : args });
  const content: { text: string }[] = body.result.content;
  const size = content.map(({ text }) => text.length).reduce((sum, length) => sum + length, 0);
  return { isError: body.result.isError === true, size, result: body.result.structuredContent, content };
}

test('the API removes from titles and bodies the control characters that JSON writes with six characters', async () => {
  const texts = Array.from({ length: 0xa0 - 1 }, (_, n) => `a${String.fromCodePoint(n + 1)}`);
  for (const start of [0, 60, 120]) {
    const text = `${texts.slice(start, start + 60).join('')}b`;
    const { id, title, body } = await rest('POST /api/v1/ideas', { title: text, body: text });
    for (const one of [title, body]) expect(JSON.stringify(one)).toMatch(/^"a((?!\\u).)+b"$/);
    await server.sql('delete from followers where idea_id = $1', [id]);
    await server.sql('delete from events where idea_id = $1', [id]);
    await server.sql('delete from ideas where id = $1', [id]);
  }
});

/**
 * The calls that replace `largestCall` for some tools: the minimum size of the answer, and the arguments of the call. Each
 * call has as few arguments as possible.
 */
const calls: Partial<Record<OperationId, [least: number, args: () => Record<string, unknown>]>> = {
  getBoard: [45_000, () => ({})],
  listIdeas: [50_000, () => ({})],
  // No title in this test contains words, so the search finds no similar ideas. An answer with the maximum of five
  // ideas would be smaller than the answer of listIdeas.
  findSimilarIdeas: [11, () => ({ title: 'Dark mode' })],
  getIdea: [22_000, () => ({ id: ideaIds[2] })],
  createIdea: [20_000, () => ({ title: quotes(200), body: quotes(10_000) })],
  editIdea: [22_000, () => ({ id: ideaIds[2], title: quotes(199) })],
  deleteIdea: [20, () => ({ id: ideaIds[9] })],
  listVotes: [10_000, () => ({ id: commentedId })],
  voteIdea: [50, () => ({ id: ideaIds[2], value: 'up' })],
  commentOnIdea: [1_200, () => ({ id: ideaIds[3], body: quotes(500) })],
  listComments: [24_000, () => ({ id: commentedId })],
  editComment: [1_200, () => ({ id: commentedId, comment_id: commentId, body: quotes(499) })],
  deleteComment: [20, () => ({ id: commentedId, comment_id: commentId })],
  listNotes: [80_000, () => ({ id: commentedId })],
  addNote: [4_000, () => ({ id: ideaIds[3], body: quotes(2_000) })],
  editNote: [4_000, () => ({ id: commentedId, note_id: noteId, body: quotes(1_999) })],
  deleteNote: [20, () => ({ id: commentedId, note_id: noteId })],
  listEvents: [50_000, () => ({})],
  setIdeaStatus: [22_000, () => ({ id: ideaIds[2], status: `${'k'.repeat(48)}${maxStatusesOfBoard - 2}` })],
  addIdeaTag: [22_000, () => ({ id: ideaIds[0], tag_id: tagIds[maxTagsOfIdea - 1] })],
  removeIdeaTag: [22_000, () => ({ id: ideaIds[4], tag_id: tagIds[0] })],
  mergeIdea: [44_000, () => ({ id: ideaIds[5], target_id: ideaIds[6] })],
  unmergeIdea: [44_000, () => ({ id: ideaIds[5] })],
  getToken: [35_000, () => ({})],
  listWebhooks: [40_000, () => ({})],
  getWebhook: [2_000, () => ({ webhook_id: webhookId })],
  createWebhook: [2_000, () => ({ url: webhookUrl, description: quotes(200) })],
  updateWebhook: [2_000, () => ({ webhook_id: webhookId, description: quotes(199) })],
  rotateWebhookSecret: [2_000, () => ({ webhook_id: webhookId })],
  testWebhook: [200, () => ({ webhook_id: webhookId })],
  listWebhookDeliveries: [4_000, () => ({ webhook_id: webhookId })],
  redeliverWebhookDelivery: [200, () => ({ webhook_id: webhookId, delivery_id: deliveryId })],
  deleteWebhook: [20, () => ({ webhook_id: webhookId - 1 })],
};

/** Returns the arguments of a tool call on the idea with the most data. All texts in the body have the maximum length. */
function largestCall({ id, route }: Operation) {
  const ids = { ideaId: commentedId, targetId: ideaIds[6] ?? 0, mergedId, spareId: ideaIds[9] ?? 0 };
  const tags = { tagId: tagIds[1] ?? 0, assignedTagId: tagIds[0] ?? 0 };
  const targets = {
    ...ids,
    ...tags,
    commentedId,
    commentId,
    noteId,
    webhookId,
    deliveryId,
    spareWebhookId: webhookId - 1,
  };
  const given = inputOf(id, targets);
  const fields = (toJsonSchema(bodySchemaOf(route), 'input')?.properties ?? {}) as Record<string, Json>;
  const longest = Object.entries(given.body).map(([name, value]) => {
    const { maxLength } = fields[name] ?? {};
    return [name, typeof value === 'string' && typeof maxLength === 'number' ? quotes(maxLength) : value];
  });
  return argumentsOf({ ...given, body: Object.fromEntries(longest) });
}

describe('the answer of a tool', () => {
  test('the MCP tool list_ideas returns 20 excerpts of 300 characters, and the MCP tool get_idea returns the whole body', async () => {
    const { result } = await call('list_ideas', {});
    expect(result.data).toHaveLength(20);
    for (const { body, body_truncated, tags } of result.data) {
      expect([body.length, body_truncated, tags.length]).toEqual([300, true, maxTagsOfIdea]);
    }
    const { result: idea } = await call('get_idea', { id: ideaIds[7] });
    expect([idea.body.length, idea.body_truncated]).toEqual([10_000, false]);
  });

  // The tool unmerge_idea undoes the merge that the previous tool in the list has made. So the tests must run in the
  // order of this list.
  test.each(tools.map(tool => [tool.metadata.tool.name, tool] as const))(
    'the answer of the MCP tool %s has at most 100,000 characters, even with the largest data',
    async (name, tool) => {
      const [least, args] = calls[tool.id] ?? [0, () => largestCall(tool)];
      const { isError, size, content, result } = await call(name, args());
      expect(isError, content[0]?.text.slice(0, 500)).toBe(false);
      // A list without entries would not show the size of a full page.
      if (!(tool.id in calls)) expect(result.data).not.toEqual([]);
      expect(size).toBeGreaterThan(least);
      expect(size).toBeLessThanOrEqual(maxCharacters);
    },
  );

  test.each([
    ['invalid_tag', 'add_idea_tag', () => ({ id: ideaIds[0], tag_id: 1 })],
    ['invalid_status', 'set_idea_status', () => ({ id: ideaIds[0], status: 'none' })],
    ['board_not_granted', 'get_board', () => ({ board: 'none' })],
    ['too_many_tags', 'add_idea_tag', () => ({ id: ideaIds[8], tag_id: tagIds.at(-1) })],
  ])(
    "an MCP tool's error %s has at most 100,000 characters, even if the error lists as much data as possible",
    async (key, name, args) => {
      const { body } = await callTool(server, { token, name, args: { board: slug, ...args() } });
      const { isError, content } = body.result as { isError: boolean; content: { text: string }[] };
      expect([isError, JSON.parse(content[0]?.text ?? '').error.key]).toEqual([true, key]);
      expect(content.map(({ text }) => text).join('').length).toBeLessThanOrEqual(maxCharacters);
    },
  );
});
