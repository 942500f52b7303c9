import type { Capability, Grant } from '../../contract/grants.ts';
import { type OperationId, operations as operationsOfContract } from '../../contract/index.ts';
import type { RouteMetadata } from '../../contract/routes.ts';
import type { TestDatabase } from './database.ts';
import { createTag, insertComment, insertIdea, type World } from './fixtures.ts';

/** An operation of the contract, for tests that run for all operations. */
export interface ApiOperation {
  id: OperationId;
  method: string;
  path: string;
  /** The grant that the operation requires, or null for an operation without a board. */
  grant: Grant | null;
  capability: Capability | null;
  isWrite: boolean;
  isPost: boolean;
  hasIdeaId: boolean;
  /** Whether the contract declares a request body. */
  hasBody: boolean;
}

const bodies: Partial<Record<OperationId, (targets: Targets) => Record<string, unknown>>> = {
  createIdea: () => ({ title: 'Dark mode', body: 'My eyes hurt at night.' }),
  editIdea: () => ({ title: 'A better title' }),
  editComment: () => ({ body: 'A better comment.' }),
  voteIdea: () => ({ value: 'up' }),
  commentOnIdea: () => ({ body: 'We need this too.' }),
  setIdeaStatus: () => ({ status: 'planned' }),
  addIdeaTag: ({ tagId }) => ({ tag_id: tagId }),
  mergeIdea: ({ targetId }) => ({ target_id: targetId }),
  createWebhook: () => ({ url: 'https://hooks.example.com/ideas' }),
  updateWebhook: () => ({ description: 'A better description' }),
};

/** The query parameters that a valid request needs. */
const queries: Partial<Record<OperationId, string>> = { findSimilarIdeas: 'title=Dark+mode' };

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
    isWrite: route.method !== 'GET',
    isPost: route.method === 'POST',
    hasIdeaId: route.path.includes(':id'),
    hasBody: id in bodies,
  };
});

export const boardOperations = operations.filter(({ grant }) => grant !== null);
export const writes = operations.filter(({ isWrite }) => isWrite);
export const reads = boardOperations.filter(({ isWrite }) => !isWrite);
/** The writes that need only a grant. A frozen board refuses them, and accepts changes of its webhooks. */
export const contentWrites = writes.filter(({ capability }) => capability === null);
export const posts = operations.filter(({ isPost }) => isPost);

/** The ids of ideas and tags for valid requests. With these ids every write has an effect. */
export interface Targets {
  ideaId: number;
  targetId: number;
  mergedId: number;
  tagId: number;
  assignedTagId: number;
  /** An idea that only the operation deleteIdea uses. */
  spareId: number;
  commentedId: number;
  commentId: number;
  webhookId: number;
  deliveryId: number;
  /** A webhook that only the operation deleteWebhook uses. */
  spareWebhookId: number;
}

export async function createTargets(db: Pick<TestDatabase, 'database' | 'sql'>, world: World): Promise<Targets> {
  const ideaId = await insertIdea(db, world, { title: 'The idea' });
  const targetId = await insertIdea(db, world, { title: 'The target' });
  const mergedId = await insertIdea(db, world, { title: 'The merged idea' });
  const mergedIntoId = await insertIdea(db, world, { title: 'The target of the merged idea' });
  const tagId = await createTag(db, world.accountId, world.boardId);
  const assignedTagId = await createTag(db, world.accountId, world.boardId);
  await db.sql('insert into idea_tags (idea_id, tag_id, account_id) values ($1, $2, $3)', [
    ideaId,
    assignedTagId,
    world.accountId,
  ]);
  await db.sql('insert into merges (account_id, source_id, target_id) values ($1, $2, $3)', [
    world.accountId,
    mergedId,
    mergedIntoId,
  ]);
  await db.sql('update ideas set merged_into_id = $2 where id = $1', [mergedId, mergedIntoId]);
  const spareId = await insertIdea(db, world, { title: 'The spare idea' });
  const commentedId = await insertIdea(db, world, { title: 'The idea with a comment' });
  const commentId = await insertComment(db, world, commentedId);
  const ofIdeas = { ideaId, targetId, mergedId, tagId, assignedTagId, spareId, commentedId, commentId };
  return { ...ofIdeas, ...(await insertWebhooks(db, world)) };
}

export interface ArrangedRequest {
  line: string;
  json?: Record<string, unknown>;
}

/**
 * Inserts two webhooks, and a test event that failed for good. The webhooks get almost no events. Keeps only the oldest
 * and the newest webhooks, because an account can have only 100.
 */
async function insertWebhooks({ sql }: Pick<TestDatabase, 'sql'>, { accountId, boardId }: World) {
  await sql(
    `delete from webhook_endpoints where account_id = $1
      and id not in (select id from webhook_endpoints where account_id = $1 order by id limit 10)
      and id not in (select id from webhook_endpoints where account_id = $1 order by id desc limit 40)`,
    [accountId],
  );
  const [made] = await sql<{ webhookId: number; spareWebhookId: number; deliveryId: number }>(
    `with webhook as (
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
    select min(webhook.id) as "webhookId", max(webhook.id) as "spareWebhookId",
      (select id from delivery) as "deliveryId"
    from webhook`,
    [accountId, boardId],
  );
  if (!made) throw new Error('The webhooks were not inserted');
  return made;
}

/** Returns a valid request of an operation. If the operation writes, the request has an effect when it is sent first. */
export function requestOf(
  { id, method, path }: Pick<ApiOperation, 'id' | 'method' | 'path'>,
  targets: Targets,
  given: { id?: number | string; tagId?: number | string; commentId?: number | string; query?: string } = {},
): ArrangedRequest {
  const ideaId = targets[ideaOf({ id, path })];
  const filled = path
    .replace(':id', String(given.id ?? ideaId))
    .replace(':tagId', String(given.tagId ?? targets.assignedTagId))
    .replace(':commentId', String(given.commentId ?? targets.commentId))
    .replace(':webhookId', String(id === 'deleteWebhook' ? targets.spareWebhookId : targets.webhookId))
    .replace(':deliveryId', String(targets.deliveryId));
  const body = bodies[id]?.(targets);
  const query = [queries[id], given.query].filter(Boolean).join('&');
  return { line: `${method} ${filled}${query ? `?${query}` : ''}`, ...(body ? { json: body } : {}) };
}

/** Returns the field of Targets that has the id of the idea for an operation. */
export function ideaOf({
  id,
  path,
}: Pick<ApiOperation, 'id' | 'path'>): 'mergedId' | 'spareId' | 'commentedId' | 'ideaId' {
  if (id === 'unmergeIdea') return 'mergedId';
  if (id === 'deleteIdea') return 'spareId';
  return path.includes(':commentId') ? 'commentedId' : 'ideaId';
}
