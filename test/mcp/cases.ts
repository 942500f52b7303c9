import { type ErrorKey, keysIn } from '../../contract/errors.ts';
import { type Grant, grants } from '../../contract/grants.ts';
import { type OperationId, operations } from '../../contract/index.ts';
import type { Route, RouteMetadata } from '../../contract/routes.ts';
import { encodeEventCursor } from '../../server/domain/events/event-cursor.ts';
import { bodySchemaOf, type Given, inputOf, otherBody, type Targets } from '../helpers/operations.ts';
import type { Scene } from './scenes.ts';

type ToolMetadata = Extract<RouteMetadata, { tool: object }>;

export interface Operation {
  id: OperationId;
  route: Route;
  metadata: ToolMetadata;
}

/** One test case: a call of an operation. `key` is the key of the expected error, or undefined if the call succeeds. */
export interface Case {
  operation: Operation;
  name: string;
  key: ErrorKey | undefined;
  grant: Grant;
  /** Returns the SQL that prepares the database for the call. */
  sql(scene: Scene): string;
  given(targets: Targets): Given;
  idempotencyKey?: string;
  /**
   * If set, the test first sends another call with the same idempotency key. This function returns the input of that
   * call.
   */
  earlier?(targets: Targets): Given;
  /** Whether another request with the same idempotency key is still running when the test sends the call. */
  isKeyHeld?: boolean;
}

/** The operations of the contract that are also available as tools. */
export const tools: Operation[] = Object.entries(operations as Record<string, Route>).flatMap(([id, route]) => {
  const metadata = route.metadata as RouteMetadata;
  return 'tool' in metadata ? { id: id as OperationId, route, metadata } : [];
});

/**
 * The errors that no case in this file has, because other tests in parity.test.ts cover them. Three are errors of HTTP,
 * and every operation can have the other two.
 */
const ofNoCase: readonly string[] = [
  'malformed_json',
  'unsupported_media_type',
  'payload_too_large',
  'internal_error',
  'service_unavailable',
];

/**
 * Builds the cases of each tool: a successful call, a repeated call with an idempotency key, and a call for every error
 * of the route.
 */
export function buildCases(): Case[] {
  return tools.flatMap(operation => {
    const repeated: Condition = { idempotencyKey: 'a-key', earlier: given => given };
    const refused = keysOf(operation).filter(key => !ofNoCase.includes(key) && !isImpossible(operation, key));
    return [
      caseOf(operation, 'succeeds', undefined, {}),
      ...(takesKey(operation)
        ? [caseOf(operation, 'takes effect once if it is sent twice with one idempotency key', undefined, repeated)]
        : []),
      ...refused.map(key => caseOf(operation, `is refused with ${key}`, key, conditionOf(key))),
    ];
  });
}

/** Builds one successful case for each tool. */
export function buildSuccesses(): Case[] {
  return tools.map(operation => caseOf(operation, 'succeeds', undefined, {}));
}

function conditionOf(key: ErrorKey): Condition {
  const condition = conditions[key];
  if (!condition) throw new Error(`No case is refused with ${key}`);
  return condition;
}

interface Condition {
  grant?: (operation: Operation) => Grant;
  sql?: (scene: Scene, operation: Operation) => string;
  given?: (given: Given, targets: Targets, operation: Operation) => Given;
  idempotencyKey?: string;
  earlier?: (given: Given, targets: Targets) => Given;
  isKeyHeld?: boolean;
}

function caseOf(operation: Operation, name: string, key: ErrorKey | undefined, condition: Condition): Case {
  const { earlier, idempotencyKey, isKeyHeld } = condition;
  const whole = (targets: Targets): Given => ({
    ...inputOf(operation.id, targets),
    ...(operation.id in queries ? { query: queries[operation.id]?.(targets) ?? {} } : {}),
  });
  return {
    operation,
    name,
    key,
    grant: condition.grant?.(operation) ?? 'moderate',
    sql: scene => condition.sql?.(scene, operation) ?? '',
    given: targets => condition.given?.(whole(targets), targets, operation) ?? whole(targets),
    ...(idempotencyKey ? { idempotencyKey } : {}),
    ...(earlier ? { earlier: (targets: Targets) => earlier(whole(targets), targets) } : {}),
    ...(isKeyHeld ? { isKeyHeld } : {}),
  };
}

/** The query parameters with which the cases of some operations test more than a request without parameters. */
const queries: Partial<Record<OperationId, (targets: Targets) => Record<string, unknown>>> = {
  listIdeas: ({ assignedTagId }) => ({
    q: 'the',
    sort: 'trending',
    per_page: 2,
    page: 1,
    tag: assignedTagId,
    created_after: '2020-01-01T00:00:00Z',
    updated_since: '2020-01-01T00:00:00Z',
  }),
  findSimilarIdeas: () => ({ title: 'An idea', body: 'Details' }),
  getIdea: () => ({ expand: ['comments', 'votes'] }),
  deleteIdea: () => ({ reason: 'Spam' }),
  listEvents: () => ({ types: 'idea.created,idea.merged', limit: 2 }),
  listWebhooks: () => ({ per_page: 2, page: 1 }),
  rotateWebhookSecret: () => ({ overlap_hours: 2 }),
  listWebhookDeliveries: () => ({ state: 'dead' }),
};

const ofBoard = (assignment: string) => ({
  sql: ({ boardId }: Scene) => `update boards set ${assignment} where id = ${boardId};`,
});
const ofStatuses = (assignment: string) => ({
  sql: ({ boardId }: Scene) => `update statuses set ${assignment} where board_id = ${boardId};`,
});
const asQueue = (given: Given, operation: Operation): Given =>
  operation.id === 'listIdeas' ? { ...given, query: { moderation_state: 'pending' } } : given;

/** These operations need a higher grant for some query parameters, or for some values of a query parameter. */
const byQuery = ['listIdeas', 'getIdea'];

/** Makes `otherUserId` the author of the idea. This user is already the author of the comment. */
const byOther = ({ ideaId, otherUserId }: Scene) => `update ideas set author_id = ${otherUserId} where id = ${ideaId};`;
const ifUpdatedLongAgo: Condition = {
  given: given => ({ ...given, body: { ...given.body, if_updated_at: '2020-01-01T00:00:00Z' } }),
};
/**
 * The case of editIdea needs a token with only the grant `write`, because moderators may edit ideas outside the
 * submission window.
 */
const asWriter: Condition = { grant: ({ id }) => (id === 'editIdea' ? 'write' : 'moderate') };

const conditions: { [Key in ErrorKey]?: Condition } = {
  unauthorized: { sql: ({ tokenId }) => `update api_tokens set revoked_at = now() where id = ${tokenId};` },
  network_not_allowed: {
    sql: ({ tokenId }) => `update api_tokens set allowed_networks = '{192.0.2.0/24}' where id = ${tokenId};`,
  },
  rate_limited: {
    sql: ({ tokenId }, { metadata }) =>
      metadata.auth === 'board'
        ? `insert into rate_limits values ('${metadata.bucket}:${tokenId}', '2026-03-14T09:00Z', '2026-03-14T10:00Z', 2000000);`
        : '',
  },
  agent_api_unavailable: {
    sql: ({ accountId }) => `update accounts set plan = 'starter' where id = ${accountId};`,
  },
  board_required: {
    sql: ({ accountId, tokenId, otherBoardId }) => `
      insert into api_token_boards (account_id, token_id, board_id, level)
      values (${accountId}, ${tokenId}, ${otherBoardId}, 'moderate');`,
  },
  board_not_granted: { given: given => ({ ...given, query: { ...given.query, board: 'other' } }) },
  insufficient_scope: {
    grant: ({ metadata, id }) =>
      byQuery.includes(id) || metadata.auth !== 'board'
        ? 'read'
        : (grants[grants.indexOf(metadata.grant) - 1] ?? 'read'),
    given: (given, _, operation) => asQueue(given, operation),
  },
  token_issuer_not_moderator: {
    sql: scene => `update memberships set role = 'member' where user_id = ${scene.issuerId}; ${byOther(scene)}`,
    given: (given, _, operation) => asQueue(given, operation),
  },
  not_author: { grant: () => 'write', sql: byOther },
  change_window_closed: {
    grant: () => 'write',
    sql: ({ ideaId, commentId, issuerId }) => `
      update ideas set created_at = '2020-01-01' where id = ${ideaId};
      update comments set created_at = '2020-01-01', author_id = ${issuerId} where id = ${commentId};`,
  },
  idea_in_use: { grant: () => 'write' },
  idea_has_merged: { given: (given, { targetId }) => ({ ...given, params: { ...given.params, id: targetId } }) },
  idea_changed: ifUpdatedLongAgo,
  comment_changed: ifUpdatedLongAgo,
  note_changed: ifUpdatedLongAgo,
  user_blocked: {
    sql: ({ accountId, issuerId }) =>
      `insert into user_blocks (account_id, user_id) values (${accountId}, ${issuerId});`,
  },
  validation_failed: {
    given: (given, _, { route }) =>
      bodySchemaOf(route)
        ? { ...given, body: { nonsense: [1], colour: 'blue' } }
        : { ...given, query: { ...given.query, nonsense: '1' } },
  },
  not_found: {
    given: (given, _, { id }) =>
      id === 'findSimilarIdeas'
        ? { ...given, query: { of: 999_999_999 } }
        : {
            ...given,
            params: { ...given.params, ['webhookId' in given.params ? 'webhookId' : 'id']: 999_999_999 },
          },
  },
  missing_capability: { sql: ({ tokenId }) => `update api_tokens set capabilities = '{}' where id = ${tokenId};` },
  too_many_webhooks: {
    sql: ({ accountId }) => `
      insert into webhook_endpoints (account_id, url, secret)
      select ${accountId}, 'https://hooks.example.com/' || n, 'sealed' from generate_series(1, 99) n;`,
  },
  webhook_disabled: {
    sql: ({ webhookId }) => `
      update webhook_endpoints set disabled_at = now(), disabled_reason = 'For a test' where id = ${webhookId};`,
  },
  similar_ideas: {
    sql: ({ ideaId }) => `update ideas set title = 'Dark mode' where id = ${ideaId};`,
    given: given => ({ ...given, query: { ...given.query, on_similar: 'reject' } }),
  },
  cursor_expired: {
    given: (given, { ideaId: boardId }) => {
      // In the test data, the idea and its board have the same id.
      const cursor = { boardId, position: 0, event: '00000000', incarnation: '00000000', hour: 1, eventHour: 1 };
      return { ...given, query: { after: encodeEventCursor(cursor) } };
    },
  },
  too_many_waits: {
    sql: ({ accountId, tokenId, boardId }) => `
      insert into event_waits (account_id, token_id, slot, board_id, server_id, expires_at)
      select ${accountId}, ${tokenId}, slot, ${boardId}, gen_random_uuid(), now() + interval '1 hour'
      from generate_series(1, 2) slot;`,
    given: given => ({ ...given, query: { wait: 1 } }),
  },
  board_frozen: ofBoard('is_frozen = true'),
  submissions_not_open_yet: { ...asWriter, ...ofBoard(`submissions_open_at = '2026-03-15'`) },
  submissions_closed: { ...asWriter, ...ofBoard(`submissions_close_at = '2026-03-13'`) },
  voting_not_open_yet: ofBoard(`voting_open_at = '2026-03-15'`),
  voting_closed: ofBoard(`voting_close_at = '2026-03-13'`),
  status_votes_closed: ofStatuses('allow_votes = false'),
  status_comments_closed: ofStatuses('allow_comments = false'),
  invalid_status: { given: given => ({ ...given, body: { status: 'no_such_status' } }) },
  invalid_tag: { given: given => ({ ...given, body: { tag_id: 999_999_999 } }) },
  too_many_tags: {
    sql: ({ accountId, boardId, ideaId }) => `
      with made as (
        insert into tags (account_id, board_id, name, color)
        select ${accountId}, ${boardId}, 'tag ' || n, '#0f766e' from generate_series(1, 9) n returning id
      )
      insert into idea_tags (idea_id, tag_id, account_id) select ${ideaId}, id, ${accountId} from made;`,
  },
  consecutive_comment: {
    sql: ({ commentId, issuerId }) => `update comments set author_id = ${issuerId} where id = ${commentId};`,
  },
  idea_not_published: {
    sql: ({ ideaId }) => `update ideas set moderation_state = 'pending' where id = ${ideaId};`,
  },
  idea_already_merged: {
    sql: ({ mergedId, commentId }) => `update comments set idea_id = ${mergedId} where id = ${commentId};`,
    given: ({ params, query, body }, { ideaId, mergedId }) => ({
      params: { ...params, id: mergedId },
      query,
      // The target differs from the idea's current target, because another merge into the current target would change
      // nothing.
      body: 'target_id' in body ? { target_id: ideaId } : body,
    }),
  },
  merge_into_self: { given: (given, { ideaId }) => ({ ...given, body: { target_id: ideaId } }) },
  idempotency_key_in_use: { idempotencyKey: 'a-key', isKeyHeld: true },
  idempotency_key_reused: {
    idempotencyKey: 'a-key',
    earlier: given => given,
    given: (given, _, { route }) => ({ ...given, body: otherBody(route, given.body) }),
  },
};

/**
 * Whether an operation can never have the given error. The route of the operation may still declare the error, because
 * all routes of one kind declare the same errors.
 */
function isImpossible({ id, metadata, route }: Operation, key: string): boolean {
  if (key === 'insufficient_scope')
    return metadata.auth === 'board' && metadata.grant === 'read' && !byQuery.includes(id);
  // An idempotency key applies to one path only. Two requests to the same path without a body are equal, so they cannot
  // cause this error.
  if (key === 'idempotency_key_reused') return !bodySchemaOf(route);
  return key === 'rate_limited' && metadata.auth === 'token';
}

function takesKey({ route }: Operation): boolean {
  return Object.hasOwn((route.headers ?? {}) as object, 'idempotency-key');
}

export function keysOf({ route }: Operation): ErrorKey[] {
  return Object.values(route.responses).flatMap(keysIn);
}
