import { z } from 'zod';
import { Capability, Grant } from './grants.ts';
import { Id } from './identifiers.ts';
import { changeMinutes, keptEventDays, maxTagsOfIdea, maxWaitsOfToken, maxWebhooks } from './limits.ts';
import { Tag, tagExample } from './tag.ts';
import { Timestamp, userText } from './text.ts';

/**
 * All error keys of the API, each with its HTTP status and its meaning. The keys and the statuses are part of the
 * contract. The wording of a message may change.
 */
export const errors = {
  malformed_json: { status: 400, meaning: 'The request body is not valid JSON.' },
  invalid_message: { status: 400, meaning: 'The request is not one valid message of the Model Context Protocol.' },
  bad_request: {
    status: 400,
    meaning: 'The request is not valid HTTP, has no Host header, or ended before it was complete.',
  },
  invalid_content_length: { status: 400, meaning: 'The Content-Length header is invalid.' },
  unknown_method: { status: 400, meaning: 'The request starts with a method that the server does not know.' },
  board_required: { status: 400, meaning: 'The token grants more than one board. Name one with the board parameter.' },
  unauthorized: { status: 401, meaning: 'The bearer token is missing, malformed, unknown, revoked or expired.' },
  network_not_allowed: { status: 403, meaning: 'The token does not allow the network that the request came from.' },
  agent_api_unavailable: { status: 403, meaning: "The account's plan does not include the Agent API." },
  board_not_granted: { status: 403, meaning: 'The board parameter names a board that the token does not grant.' },
  insufficient_scope: { status: 403, meaning: "The token's grant on this board is too low for the action." },
  missing_capability: {
    status: 403,
    meaning:
      'The token does not have the capability that the action needs, or the user who issued the token is no longer an owner or admin.',
  },
  token_issuer_not_moderator: {
    status: 403,
    meaning: 'The user who issued the token no longer holds the role of owner, admin or moderator.',
  },
  user_blocked: { status: 403, meaning: 'The user who issued the token is blocked and may not write.' },
  not_author: {
    status: 403,
    meaning: 'The idea or comment is by another user. Only its author and moderators may change it.',
  },
  origin_not_allowed: { status: 403, meaning: 'The origin of the web page is not allowed.' },
  not_found: { status: 404, meaning: 'Not found, or not visible to this token.' },
  method_not_allowed: { status: 405, meaning: 'The path does not support this method. See the Allow header.' },
  request_timeout: { status: 408, meaning: 'The request did not arrive in time.' },
  idempotency_key_in_use: { status: 409, meaning: 'The first request with this Idempotency-Key is still running.' },
  idea_changed: { status: 409, meaning: 'The idea has changed since if_updated_at. Nothing was written.' },
  comment_changed: { status: 409, meaning: 'The comment has changed since if_updated_at. Nothing was written.' },
  note_changed: { status: 409, meaning: 'The note has changed since if_updated_at. Nothing was written.' },
  similar_ideas: {
    status: 409,
    meaning: 'The board already has a near-duplicate of the new idea. The server created no idea.',
  },
  cursor_expired: {
    status: 410,
    meaning: `Events after this cursor may be missing, because the server deletes events after ${keptEventDays} days, or because the database was restored from a backup. Start again without \`after\`, or with \`after=now\`.`,
  },
  payload_too_large: { status: 413, meaning: 'The request body is larger than 64 KiB.' },
  unsupported_media_type: {
    status: 415,
    meaning: 'The request body must be application/json, without a Content-Encoding.',
  },
  expectation_failed: { status: 417, meaning: 'The server supports only 100-continue in the Expect header.' },
  validation_failed: { status: 422, meaning: 'The request does not match its schema. See issues.' },
  invalid_status: { status: 422, meaning: "The status is not in the board's status registry." },
  invalid_tag: { status: 422, meaning: 'The tag_id is not a tag of the board.' },
  too_many_tags: { status: 422, meaning: `The idea already has ${maxTagsOfIdea} tags, the maximum.` },
  consecutive_comment: {
    status: 422,
    meaning:
      'The last comment on the idea is by the same user, who can comment again after another user has commented.',
  },
  change_window_closed: {
    status: 422,
    meaning: `The author may change an idea or a comment only for ${changeMinutes} minutes, and may not edit a published idea on a board where moderators approve ideas.`,
  },
  idea_in_use: {
    status: 422,
    meaning: 'Other users have voted or commented on the idea. Only a moderator can delete it.',
  },
  idea_has_merged: { status: 422, meaning: 'Other ideas are merged into the idea. Undo these merges first.' },
  idea_not_published: { status: 422, meaning: 'The idea awaits approval.' },
  idea_already_merged: { status: 422, meaning: 'The idea is already merged into another idea.' },
  merge_into_self: { status: 422, meaning: 'An idea cannot be merged into itself.' },
  too_many_webhooks: { status: 422, meaning: `The account already has ${maxWebhooks} webhooks, the maximum.` },
  webhook_disabled: { status: 422, meaning: 'The webhook is disabled. Enable it first.' },
  idempotency_key_reused: { status: 422, meaning: 'This Idempotency-Key was already used for a different request.' },
  board_frozen: { status: 423, meaning: 'The board is frozen and accepts no writes.' },
  submissions_not_open_yet: { status: 423, meaning: 'The submission window of the board has not opened yet.' },
  submissions_closed: { status: 423, meaning: 'The submission window of the board has closed.' },
  voting_not_open_yet: { status: 423, meaning: 'The voting window of the board has not opened yet.' },
  voting_closed: { status: 423, meaning: 'The voting window of the board has closed.' },
  status_votes_closed: { status: 423, meaning: "The idea's status does not allow votes." },
  status_comments_closed: { status: 423, meaning: "The idea's status does not allow comments." },
  headers_too_large: { status: 431, meaning: 'The request line and the headers are larger than 16 KiB.' },
  rate_limited: { status: 429, meaning: 'A rate limit is exceeded; try again after Retry-After seconds.' },
  too_many_waits: {
    status: 429,
    meaning: `The token already has ${maxWaitsOfToken} requests that wait for events; try again after Retry-After seconds.`,
  },
  internal_error: { status: 500, meaning: 'The server failed; the request id identifies the failure in its log.' },
  service_unavailable: {
    status: 503,
    meaning: 'The database is unavailable, or a lock was not free in time; try again after Retry-After seconds.',
  },
} as const satisfies Record<string, { status: number; meaning: string }>;

export type ErrorKey = keyof typeof errors;

const GrantedBoards = z
  .object({
    boards: z
      .array(z.object({ slug: z.string(), name: z.string(), grant: Grant }))
      .describe('The boards of the token, each with its grant.'),
  })
  .meta({
    title: 'GrantedBoards',
    description: 'The boards that the `board` parameter can name.',
    examples: [
      {
        boards: [
          { slug: 'mobile-app', name: 'Mobile app', grant: 'read' },
          { slug: 'web-app', name: 'Web app', grant: 'write' },
        ],
      },
    ],
  });

/** The schemas of `details`, by error key. The details help a client to correct its request. */
export const errorDetails = {
  board_required: GrantedBoards,
  board_not_granted: GrantedBoards,
  insufficient_scope: z
    .object({
      board: z.string().describe('The slug of the board.'),
      needed: Grant,
      held: Grant,
    })
    .meta({
      title: 'InsufficientGrant',
      description:
        'The lowest grant that allows the action (`needed`), and the grant of the token on the board (`held`).',
      examples: [{ board: 'web-app', needed: 'write', held: 'read' }],
    }),
  missing_capability: z.object({ needed: Capability }).meta({
    title: 'NeededCapability',
    description: 'The capability that the action needs.',
    examples: [{ needed: 'manage_webhooks' }],
  }),
  similar_ideas: z
    .object({
      ideas: z
        .array(
          z.object({
            id: Id,
            title: userText.describe('The title of the idea.'),
            url: z.string().describe("The address of the idea's page for people."),
            similarity: z.number().describe('The similarity to the new idea, at most 1.'),
          }),
        )
        .describe('The near-duplicates, the most similar first.'),
    })
    .meta({
      title: 'NearDuplicates',
      description: 'The near-duplicates of the refused idea.',
      examples: [
        {
          ideas: [
            {
              id: 42,
              title: 'Export a board as CSV',
              url: 'https://ideas.example.com/b/web-app/ideas/42',
              similarity: 0.714,
            },
          ],
        },
      ],
    }),
  invalid_status: z
    .object({ statuses: z.array(z.string()).describe('The keys of the status registry, in order.') })
    .meta({
      title: 'BoardStatuses',
      description: 'The statuses of the board.',
      examples: [{ statuses: ['open', 'planned', 'in_progress', 'done', 'declined', 'archived'] }],
    }),
  invalid_tag: z.object({ tags: z.array(Tag).describe('The tags of the board, sorted by name.') }).meta({
    title: 'BoardTags',
    description: 'The tags of the board.',
    examples: [{ tags: [tagExample] }],
  }),
  consecutive_comment: z
    .object({
      last_comment: z.object({ id: Id, created_at: Timestamp }).describe("The user's comment, the last on the idea."),
    })
    .meta({
      title: 'LastComment',
      description: 'The last comment on the idea. The same user cannot comment again until another user has commented.',
      examples: [{ last_comment: { id: 1001, created_at: '2026-03-15T11:02:00.000Z' } }],
    }),
  rate_limited: z
    .object({
      limit: z.string().describe('The exceeded rate limit: `apitoken:read`, `apitoken:write` or `ip`.'),
      allowed: z.int().min(0).describe('Requests allowed per window.'),
      window_seconds: z.int().min(1).describe('The length of the window in seconds.'),
      retry_after: z.int().min(1).describe('Seconds until the window ends.'),
    })
    .meta({
      title: 'ExceededLimit',
      description: 'The rate limit that the request exceeded.',
      examples: [{ limit: 'apitoken:write', allowed: 20, window_seconds: 3600, retry_after: 1180 }],
    }),
} as const satisfies { readonly [K in ErrorKey]?: z.ZodObject };

/** The type of an error's `details`. The type is undefined for error keys without details. */
export type DetailsOf<K extends ErrorKey> = K extends keyof typeof errorDetails
  ? z.infer<(typeof errorDetails)[K]>
  : undefined;

/**
 * Returns an error message that contains values from the details. Returns undefined if the error has the usual message
 * of its key.
 */
export function messageWith<K extends ErrorKey>(key: K, details: DetailsOf<K> | undefined): string | undefined {
  if (!details) return undefined;
  if (key === 'insufficient_scope') {
    const { board, needed, held } = details as DetailsOf<'insufficient_scope'>;
    return `This needs the ${needed} grant on the board ${board}. The token has only the ${held} grant there.`;
  }
  if (key !== 'rate_limited') return undefined;
  const { limit, allowed, window_seconds, retry_after } = details as DetailsOf<'rate_limited'>;
  const [requests, sender] = limitedRequests[limit] ?? ['requests', 'this client'];
  const window = { 60: 'minute', 3600: 'hour' }[window_seconds] ?? `${window_seconds} seconds`;
  return `The limit of ${allowed} ${requests} per ${window} for ${sender} is exceeded. Try again in ${retry_after} seconds.`;
}

/** Names the requests that each rate limit counts, and the sender of these requests. */
const limitedRequests: Readonly<Record<string, [requests: string, sender: string]>> = {
  'apitoken:read': ['reads', 'this token'],
  'apitoken:write': ['writes', 'this token'],
  ip: ['requests', 'this IP address'],
};

/** The meanings of error keys on one route, if they differ from the usual meanings. */
export type ErrorMeanings = { readonly [K in ErrorKey]?: string };

export function meaningOf(key: ErrorKey, meanings: ErrorMeanings = {}): string {
  return meanings[key] ?? errors[key].meaning;
}

/**
 * The meanings of error keys on the routes for merging. These routes concern two ideas, so each meaning says which of
 * the two ideas it is about.
 */
export const mergeMeanings = {
  idea_not_published: 'The idea or the target awaits approval.',
  idea_already_merged: 'The idea or the target is already merged into another idea.',
} as const satisfies ErrorMeanings;

/**
 * The error keys for requests that are invalid HTTP or too slow. These errors do not depend on the route, so no
 * operation of the OpenAPI document lists their keys.
 */
export const transportKeys = [
  'bad_request',
  'invalid_content_length',
  'unknown_method',
  'request_timeout',
  'expectation_failed',
  'headers_too_large',
] as const satisfies ErrorKey[];
type ErrorStatus<K extends ErrorKey = ErrorKey> = (typeof errors)[K]['status'];

type KeysOfStatus<K extends ErrorKey, S> = { [Key in K]: (typeof errors)[Key]['status'] extends S ? Key : never }[K];

export const ValidationIssue = z
  .object({
    path: z
      .array(z.union([z.string(), z.int()]))
      .describe(
        'The path of the value: `body`, `query` or `headers` first (`arguments` or `_meta` in a tool call), then field names and array positions.',
      ),
    code: z.string().describe('The problem as a code for programs.'),
    message: z.string().describe('The problem as a sentence for people.'),
    known: z.array(z.string()).optional().describe('Only with `unrecognized_keys`: the fields that exist.'),
  })
  .meta({ title: 'ValidationIssue', description: 'One reason why a request does not match its schema.' });
export type ValidationIssue = z.infer<typeof ValidationIssue>;

/** An issue of Zod or of another validator with the Standard Schema interface. */
interface SchemaIssue {
  code?: string;
  message: string;
  path?: readonly (PropertyKey | { key: PropertyKey })[] | undefined;
  /** The names of the unknown fields, if the code of the issue is `unrecognized_keys`. */
  keys?: string[];
}

/**
 * Converts the validation issues of one part of a request, such as the body. An issue about unknown fields also names
 * the known fields.
 */
export function issuesIn(
  place: string[],
  error: { issues: readonly unknown[] } | null | undefined,
  schema?: unknown,
): ValidationIssue[] {
  return ((error?.issues ?? []) as SchemaIssue[]).map(({ code = 'custom', message, path = [], keys }) => {
    const whole = [...place, ...path.map(nameOf)];
    if (keys && schema instanceof z.ZodObject) return unknownFields(whole, keys, Object.keys(schema.shape));
    return { path: whole, code, message };
  });
}

function nameOf(segment: PropertyKey | { key: PropertyKey }): string | number {
  const key = typeof segment === 'object' ? segment.key : segment;
  return typeof key === 'symbol' ? String(key) : key;
}

/** The maximum number of unknown fields that an issue names, and the maximum length of each name. */
const maxUnknown = { names: 5, length: 50 };

/** Returns the validation issue for unknown fields. The path says where in the request these fields are. */
export function unknownFields(path: ValidationIssue['path'], unknown: string[], known: string[]): ValidationIssue {
  const names = unknown.slice(0, maxUnknown.names).map(name => JSON.stringify(name.slice(0, maxUnknown.length)));
  const fields = known.length > 0 ? `The fields are ${known.join(', ')}` : 'There are no fields';
  return { path, code: 'unrecognized_keys', message: `Unknown: ${names.join(', ')}. ${fields}`, known };
}

export interface ErrorBody<K extends ErrorKey = ErrorKey> {
  error: { key: K; message: string; issues?: ValidationIssue[] | undefined; details?: DetailsOf<K> | undefined };
}

export type ErrorResponses<K extends ErrorKey> = {
  [S in ErrorStatus<K>]: z.ZodType<ErrorBody<KeysOfStatus<K, S>>, ErrorBody<KeysOfStatus<K, S>>>;
};

/**
 * Returns the error response schemas of an endpoint that can answer with these error keys. There is one schema for each
 * HTTP status.
 */
export function raises<const K extends ErrorKey>(...keys: K[]): ErrorResponses<K> {
  return raisesWithin({ envelope: {}, error: {} }, ...keys) as ErrorResponses<K>;
}

/**
 * Returns schemas like raises(), but with more fields: `more.envelope` lists fields beside the field `error`, and
 * `more.error` lists fields inside the field `error`.
 */
export function raisesWithin(
  more: { envelope: z.ZodRawShape; error: z.ZodRawShape },
  ...keys: ErrorKey[]
): Record<number, z.ZodType> {
  const distinct = [...new Set(keys)].sort();
  const responses: Record<number, z.ZodType> = {};
  for (const { status } of distinct.map(key => errors[key])) {
    const ofStatus = distinct.filter(key => errors[key].status === status);
    responses[status] ??= errorBody(ofStatus, more.envelope, more.error);
  }
  return responses;
}

function errorBody(keys: ErrorKey[], inEnvelope: z.ZodRawShape, inError: z.ZodRawShape) {
  const issues = { issues: z.array(ValidationIssue).optional().describe('Only with `validation_failed`.') };
  return z.object({
    ...inEnvelope,
    error: z.object({
      key: z.enum(keys),
      message: z.string().describe('For people. The wording can change.'),
      ...(keys.includes('validation_failed') ? issues : {}),
      ...detailsField(keys),
      ...inError,
    }),
  });
}

/** Returns the error keys of a response schema. The list is empty for a response without an error. */
export function keysIn(response: unknown): ErrorKey[] {
  const error: unknown = response instanceof z.ZodObject ? response.shape.error : undefined;
  return error instanceof z.ZodObject ? (error.shape.key as z.ZodEnum<Record<ErrorKey, ErrorKey>>).options : [];
}

/** Returns the field `details` of an error body, or no field if none of the keys has details. */
function detailsField(keys: ErrorKey[]): z.ZodRawShape {
  const detailed = keys.filter(key => key in errorDetails) as (keyof typeof errorDetails)[];
  const [first, ...others] = new Set<z.ZodObject>(detailed.map(key => errorDetails[key]));
  if (!first) return {};
  // If `details` has only one schema, the field gets no description of its own. The schema is a component of the
  // OpenAPI document and already has a description.
  if (others.length === 0) return { details: first.optional() };
  const description = `Only with ${detailed.map(key => `\`${key}\``).join(', ')}.`;
  return {
    details: z
      .union([first, ...others])
      .optional()
      .describe(description),
  };
}

/** The error keys that every endpoint except the probes can answer with. */
const universal = ['rate_limited', 'internal_error', 'service_unavailable'] as const;

/** The error keys that every authenticated endpoint can answer with before it runs its operation. */
const authenticated = [
  ...universal,
  'unauthorized',
  'network_not_allowed',
  'agent_api_unavailable',
  'validation_failed',
] as const;

const onBoard = [...authenticated, 'board_required', 'board_not_granted', 'insufficient_scope'] as const;

const writing = [...onBoard, 'user_blocked', 'malformed_json', 'payload_too_large', 'unsupported_media_type'] as const;

/** The additional error keys of a POST endpoint, because it accepts the Idempotency-Key header. */
const idempotent = ['idempotency_key_in_use', 'idempotency_key_reused'] as const;

const moderating = [...writing, 'token_issuer_not_moderator'] as const;

/** The error keys that are common to each kind of endpoint. A route adds only its own keys. */
export const raisedBy = { universal, authenticated, onBoard, writing, idempotent, moderating };
