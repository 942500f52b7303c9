import { z } from 'zod';
import type { Capability, Grant } from '../../contract/grants.ts';
import { type OperationId, operations as operationsOfContract } from '../../contract/index.ts';
import type { Route, RouteMetadata } from '../../contract/routes.ts';
import type { TestDatabase } from './database.ts';
import type { World } from './fixtures.ts';

/** An operation of the contract, for tests that run for all operations. */
export interface ApiOperation {
  id: OperationId;
  method: string;
  path: string;
  /** The grant that the operation requires. The value is null if the operation does not belong to a board. */
  grant: Grant | null;
  capability: Capability | null;
  successStatus: 200 | 201;
  isWrite: boolean;
  isPost: boolean;
  hasIdeaId: boolean;
  /** Whether the contract declares a request body for the operation. */
  hasBody: boolean;
}

/** The input of an operation. A test can send this input as an HTTP request or as a tool call. */
export interface Given {
  params: Record<string, unknown>;
  query: Record<string, unknown>;
  body: Record<string, unknown>;
}

/**
 * The bodies that replace the examples of the contract. For example, the body of a merge must contain the id of an idea
 * that exists.
 */
const bodies: Partial<Record<OperationId, (targets: Targets) => Record<string, unknown>>> = {
  createIdea: () => ({ title: 'Dark mode', body: 'My eyes hurt at night.' }),
  editIdea: () => ({ title: 'A better title' }),
  editComment: () => ({ body: 'A better comment.' }),
  editNote: () => ({ body: 'A better note.' }),
  setIdeaStatus: () => ({ status: 'planned' }),
  addIdeaTag: ({ tagId }) => ({ tag_id: tagId }),
  mergeIdea: ({ targetId }) => ({ target_id: targetId }),
  createWebhook: () => ({ url: 'https://hooks.example.com/ideas' }),
  updateWebhook: () => ({ description: 'A better description' }),
};

/** The query parameters of the operations that need some. */
const queries: Partial<Record<OperationId, Record<string, unknown>>> = { findSimilarIdeas: { title: 'Dark mode' } };

/** Returns the schema of a route's request body, or undefined if the route takes no body. */
export function bodySchemaOf(route: Route): z.ZodObject | undefined {
  return 'body' in route && route.body instanceof z.ZodObject ? route.body : undefined;
}

/**
 * Returns a valid input of an operation. The ids in the path are ids of the targets. The body is the example of the
 * contract, unless `bodies` has a body for the operation.
 */
export function inputOf(id: OperationId, targets: Targets): Given {
  const route: Route = operationsOfContract[id as keyof typeof operationsOfContract];
  const ids: Record<string, number> = {
    id: targets[ideaOf({ id, path: route.path })],
    tagId: targets.assignedTagId,
    commentId: targets.commentId,
    noteId: targets.noteId,
    webhookId: id === 'deleteWebhook' ? targets.spareWebhookId : targets.webhookId,
    deliveryId: targets.deliveryId,
  };
  const names = [...route.path.matchAll(/:(\w+)/g)].map(([, name = '']) => name);
  const [example] = (bodySchemaOf(route)?.meta()?.examples ?? []) as Record<string, unknown>[];
  return {
    params: Object.fromEntries(names.map(name => [name, ids[name]])),
    query: queries[id] ?? {},
    body: bodies[id]?.(targets) ?? example ?? {},
  };
}

/** Returns a valid body that differs from the given body in one field. */
export function otherBody(route: Route, body: Record<string, unknown>): Record<string, unknown> {
  const schema = bodySchemaOf(route);
  if (!schema) throw new Error(`${route.path} takes no body`);
  const others = Object.entries(body).flatMap(([name, value]) => {
    const { options = [] } = schema.shape[name] as { options?: unknown[] };
    const values = [typeof value === 'number' ? value + 1 : `${value}2`, ...options.filter(one => one !== value)];
    return values.map(one => ({ ...body, [name]: one }));
  });
  const other = others.find(one => schema.safeParse(one).success);
  if (!other) throw new Error(`No other body of ${route.path} is known`);
  return other;
}

/** All operations that require a token. */
export const operations: ApiOperation[] = Object.entries(operationsOfContract).flatMap(([id, route]) => {
  const metadata = route.metadata as RouteMetadata;
  if (metadata.auth === 'none') return [];
  return {
    id: id as OperationId,
    method: route.method,
    path: route.path,
    grant: metadata.auth === 'board' ? metadata.grant : null,
    capability: (metadata.auth === 'board' && metadata.capability) || null,
    successStatus: 201 in route.responses ? 201 : 200,
    isWrite: route.method !== 'GET',
    isPost: route.method === 'POST',
    hasIdeaId: route.path.includes(':id'),
    hasBody: bodySchemaOf(route) !== undefined,
  };
});

export const boardOperations = operations.filter(({ grant }) => grant !== null);
export const writes = operations.filter(({ isWrite }) => isWrite);
export const reads = boardOperations.filter(({ isWrite }) => !isWrite);
/**
 * The write operations that need no capability. While a board is frozen, the server refuses these operations on the
 * board. The server still accepts changes of the board's webhooks, which need a capability.
 */
export const contentWrites = writes.filter(({ capability }) => capability === null);
export const posts = operations.filter(({ isPost }) => isPost);

/** The ids of ideas, tags and other targets for valid requests. With these ids, every write operation has an effect. */
export interface Targets {
  ideaId: number;
  targetId: number;
  mergedId: number;
  tagId: number;
  assignedTagId: number;
  /** An idea that only the operation deleteIdea uses. */
  spareId: number;
  /** An idea with a comment and a note. */
  commentedId: number;
  commentId: number;
  noteId: number;
  webhookId: number;
  deliveryId: number;
  /** A webhook that only the operation deleteWebhook uses. */
  spareWebhookId: number;
}

/**
 * Creates the targets in one statement, because hundreds of tests need new targets. The webhooks get almost no events.
 * An account can have only 100 webhooks, so the statement also deletes old webhooks. The statement keeps the ten oldest
 * and the 40 newest webhooks.
 */
export async function createTargets({ sql }: Pick<TestDatabase, 'sql'>, world: World): Promise<Targets> {
  const [targets] = await sql<Targets>(
    `with open as (select id from statuses where account_id = $1 and board_id = $2 and key = 'open'),
    idea as (
      insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, comment_count)
      select $1, $2, $3, open.id, title, 'Its description.', 'published', (title = 'The idea with a comment')::int
      from open, unnest(array[
        'The idea', 'The target', 'The target of the merged idea', 'The spare idea', 'The idea with a comment'
      ]) as title
      returning id, title
    ), merged as (
      insert into ideas (account_id, board_id, author_id, status_id, title, body, moderation_state, merged_into_id)
      select $1, $2, $3, open.id, 'The merged idea', 'Its description.', 'published', idea.id
      from open, idea where idea.title = 'The target of the merged idea'
      returning id, merged_into_id
    ), merge as (
      insert into merges (account_id, source_id, target_id) select $1, id, merged_into_id from merged
    ), tag as (
      insert into tags (account_id, board_id, name, color)
      select $1, $2, 'tag ' || gen_random_uuid(), '#0f766e' from generate_series(1, 2)
      returning id
    ), assigned as (
      insert into idea_tags (account_id, idea_id, tag_id)
      select $1, idea.id, (select max(id) from tag) from idea where title = 'The idea'
    ), follower as (
      insert into followers (account_id, idea_id, user_id)
      select $1, id, $3 from idea where title = 'The idea with a comment'
    ), comment as (
      insert into comments (account_id, idea_id, author_id, body)
      select $1, id, $3, 'The comment' from idea where title = 'The idea with a comment'
      returning id
    ), note as (
      insert into idea_notes (account_id, idea_id, author_id, body)
      select $1, id, $3, 'The note' from idea where title = 'The idea with a comment'
      returning id
    ), removed as (
      delete from webhook_endpoints where account_id = $1
        and id not in (select id from webhook_endpoints where account_id = $1 order by id limit 10)
        and id not in (select id from webhook_endpoints where account_id = $1 order by id desc limit 40)
    ), webhook as (
      insert into webhook_endpoints (account_id, board_id, url, secret, event_types)
      select $1, $2, 'https://hooks.example.com/' || n, 'sealed', '{idea.unmerged}' from generate_series(1, 2) n
      returning id
    ), event as (
      insert into events (account_id, type, data, body, occurred_at)
      values ($1, 'webhook.test', '{}', '{"type":"webhook.test"}', now()) returning id
    ), delivery as (
      insert into webhook_deliveries (account_id, endpoint_id, event_id, state, finished_at)
      select $1, (select min(id) from webhook), id, 'dead', now() from event returning id
    )
    select (select id from idea where title = 'The idea') as "ideaId",
      (select id from idea where title = 'The target') as "targetId",
      (select id from merged) as "mergedId",
      (select min(id) from tag) as "tagId", (select max(id) from tag) as "assignedTagId",
      (select id from idea where title = 'The spare idea') as "spareId",
      (select id from idea where title = 'The idea with a comment') as "commentedId",
      (select id from comment) as "commentId", (select id from note) as "noteId",
      (select min(id) from webhook) as "webhookId", (select max(id) from webhook) as "spareWebhookId",
      (select id from delivery) as "deliveryId"`,
    [world.accountId, world.boardId, world.ownerId],
  );
  if (!targets) throw new Error('The targets were not created');
  return targets;
}

export interface ArrangedRequest {
  line: string;
  json?: Record<string, unknown>;
}

/** Returns a valid request of an operation. When a write request is sent for the first time, it changes the data. */
export function requestOf(
  { id, method, path, hasBody = true }: Pick<ApiOperation, 'id' | 'method' | 'path'> & { hasBody?: boolean },
  targets: Targets,
  given: { id?: number | string; tagId?: number | string; commentId?: number | string; query?: string } = {},
): ArrangedRequest {
  const { params, query, body } = inputOf(id, targets);
  const ids: Record<string, unknown> = { ...params, ...given };
  const filled = path.replace(/:(\w+)/g, (_, name: string) => String(ids[name]));
  const search = [new URLSearchParams(query as Record<string, string>).toString(), given.query]
    .filter(Boolean)
    .join('&');
  return { line: `${method} ${filled}${search ? `?${search}` : ''}`, ...(hasBody ? { json: body } : {}) };
}

/** Returns a field name of `Targets`. The field has the id of the idea that the operation uses. */
export function ideaOf({
  id,
  path,
}: Pick<ApiOperation, 'id' | 'path'>): 'mergedId' | 'spareId' | 'commentedId' | 'ideaId' {
  if (id === 'unmergeIdea') return 'mergedId';
  if (id === 'deleteIdea') return 'spareId';
  return /:(commentId|noteId)/.test(path) ? 'commentedId' : 'ideaId';
}
