import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Idea, ideaExamples, ideaSorts } from './idea.ts';
import { Id, IdeaPath } from './identifiers.ts';
import { changeMinutes, excerptLength, maxIdsOfRequest, nearDuplicateSimilarity } from './limits.ts';
import { listOf, onePlace, pagination, queryInteger, queryList } from './pagination.ts';
import {
  BoardParameter,
  BoardQuery,
  ConditionalHeaders,
  c,
  IdempotencyHeaders,
  noBody,
  notModified,
  type RouteMetadata,
} from './routes.ts';
import { IdeaStatus, StatusKey } from './status.ts';
import { GivenTimestamp, nonBlankLine, nonBlankText, text } from './text.ts';

export const ideaListExample = {
  data: [ideaExamples.duplicate, ideaExamples.discussed],
  page: 1,
  per_page: 2,
  has_more: true,
  next_cursor: 'WyJuZXdlc3QiLCIyMDI2LTAzLTE0IDA5OjI2OjUzLjU4OSswMCIsNDJd',
};

export const IdeaList = listOf(Idea, 'IdeaList', 'A page of ideas.', ideaListExample);

export const IdeaInput = z
  .strictObject({
    title: nonBlankLine(200).describe('1 to 200 characters after trimming.'),
    body: nonBlankText(10_000).describe('1 to 10,000 characters after trimming.'),
  })
  .meta({
    title: 'IdeaInput',
    description: 'The idea to create.',
    examples: [{ title: ideaExamples.created.title, body: ideaExamples.created.body }],
  });

/** A schema for an id in a query string, such as the id of a tag. */
const QueryId = queryInteger(1, Number.MAX_SAFE_INTEGER);

/**
 * The parameters that are valid together with `ids`. Filters, sort orders and page parameters are invalid with `ids`,
 * because `ids` already names the exact ideas.
 */
const besideIds = ['ids', 'board', 'body'];

/** Extends a query schema: a request with `ids` must not have filters, sort orders or page parameters. */
function idsAlone<T extends z.ZodType<{ ids?: unknown }>>(query: T) {
  return query.refine(given => given.ids === undefined || Object.keys(given).every(name => besideIds.includes(name)), {
    error: `Only ${besideIds.slice(1).join(' and ')} can be combined with ids`,
    path: ['ids'],
  });
}

export const listIdeas = c.query({
  method: 'GET',
  path: '/api/v1/ideas',
  summary: 'List ideas',
  description:
    'Returns the published ideas of the board. Leaves out merged ideas, and ideas in a hidden status unless `status` or `status_key` asks for it. An idea must match all filters. With `moderation_state=pending`, returns the approval queue. With `ids`, returns the ideas with these ids.',
  query: idsAlone(
    onePlace(
      z.strictObject({
        ...BoardParameter,
        status: IdeaStatus.optional()
          .describe('Ideas in any status of this category.')
          .meta({ examples: ['open'] }),
        status_key: StatusKey.optional().describe('Ideas in exactly this status. Takes precedence over `status`.'),
        q: text(0, 100)
          .optional()
          .describe(
            'Searches titles. Every word must match the beginning of a word in the title. Accents are ignored. An empty text does not filter.',
          )
          .meta({ examples: ['csv exp'] }),
        tag: QueryId.optional()
          .describe('Ideas with the tag of this id.')
          .meta({ examples: [3] }),
        author: QueryId.optional()
          .describe('Ideas whose `author` is the user with this id.')
          .meta({ examples: [7] }),
        created_after: GivenTimestamp.optional().describe('Ideas created after this time.'),
        created_before: GivenTimestamp.optional().describe('Ideas created before this time.'),
        updated_since: GivenTimestamp.optional().describe(
          'Ideas with an `updated_at` at this time or later. Votes and comments do not change `updated_at`.',
        ),
        sort: z
          .enum(ideaSorts)
          .optional()
          .describe(
            'The order, highest first: `newest` (the default) by `created_at`, `top` by `score`, `updated` by `updated_at`, `comments` by `comment_count`, `trending` by `created_at` plus a week for each doubling of the score.',
          )
          .meta({ examples: ['newest'] }),
        moderation_state: z
          .literal('pending')
          .optional()
          .describe('Returns the approval queue instead of the published ideas. Needs the `moderate` grant.')
          .meta({ examples: ['pending'] }),
        body: z
          .enum(['full', 'excerpt'])
          .optional()
          .describe(`\`excerpt\` cuts each body to its first ${excerptLength} characters and sets \`body_truncated\`.`)
          .meta({ default: 'full', examples: ['excerpt'] }),
        // This parameter has no example. The other parameters have examples, and a request with `ids` and these
        // parameters would be invalid.
        ids: queryList(QueryId, maxIdsOfRequest, { type: 'integer', format: 'int64', minimum: 1 })
          .optional()
          .describe(
            `Returns the ideas with these ids in this order, even merged and hidden ideas. Skips unknown ids. Cannot be combined with filters, \`sort\` or pages. At most ${maxIdsOfRequest} ids.`,
          ),
        ...pagination,
      }),
    ),
  ),
  headers: ConditionalHeaders,
  responses: { 200: IdeaList, ...notModified, ...raises(...raisedBy.onBoard, 'token_issuer_not_moderator') },
  metadata: {
    tag: 'Ideas',
    auth: 'board',
    grant: 'read',
    bucket: 'apitoken:read',
    grantByQuery: { moderation_state: 'moderate' },
    sdk: 'ideas.list',
    tool: {
      name: 'list_ideas',
      title: 'List and search ideas',
      description:
        'Lists or searches ideas, 20 per page. Search before you create an idea: use one or two characteristic words of the title, and try synonyms. If body_truncated is true, the body is cut to 300 characters, and get_idea has all of it. Merged ideas are left out, and so are hidden statuses unless you filter for them. With ids, returns these ideas.',
      isDestructive: false,
      isIdempotent: true,
      defaults: { body: 'excerpt' },
    },
  } as const satisfies RouteMetadata,
});

const CreationQuery = z.strictObject({
  ...BoardParameter,
  on_similar: z
    .enum(['allow', 'reject'])
    .optional()
    .describe(
      `\`reject\` creates no idea if the board has a near-duplicate (\`similarity\` of at least ${nearDuplicateSimilarity}).`,
    )
    .meta({ default: 'allow', examples: ['allow'] }),
});

export const createIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas',
  summary: 'Create an idea',
  description:
    'Creates an idea by the user who issued the token. On a board with pre-moderation the idea awaits approval (`moderation_state` is `pending`), unless the token has the `moderate` grant.',
  query: CreationQuery,
  headers: IdempotencyHeaders,
  body: IdeaInput,
  responses: {
    201: Idea,
    ...raises(
      ...raisedBy.writing,
      ...raisedBy.idempotent,
      'board_frozen',
      'submissions_not_open_yet',
      'submissions_closed',
      'similar_ideas',
    ),
  },
  metadata: {
    tag: 'Ideas',
    auth: 'board',
    grant: 'write',
    bucket: 'apitoken:write',
    sdk: 'ideas.create',
    tool: {
      name: 'create_idea',
      title: 'Create an idea',
      description: `Submits an idea in the name of the user who issued the token. Other people see it. First call find_similar_ideas: if an idea has the same request, vote or comment on it instead. Submit one request per idea. The title names it, and the body says who needs it and why. If moderation_state is pending, a moderator must approve the idea first: do not submit it again. Within ${changeMinutes} minutes, edit_idea and delete_idea can correct a mistake.`,
      resultFields: ['id', 'url', 'title', 'body', 'status', 'status_key', 'moderation_state', 'created_at'],
      isDestructive: false,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

/** The reason that a moderator or the author gives for the edit or the deletion of an idea or a comment. */
export const Reason = text(1, 500);

const reasonDescription = 'The reason, 1 to 500 characters. Webhooks and the author of a deleted idea receive it.';

/** The fields that every edit accepts in addition to the new texts. */
export const editFields = {
  if_updated_at: GivenTimestamp.optional().describe(
    'The `updated_at` that you have read. If it has changed since then, the edit is refused.',
  ),
  reason: Reason.optional().describe(reasonDescription),
};

export const IdeaEdit = z
  .strictObject({
    title: nonBlankLine(200).optional().describe('The new title. 1 to 200 characters after trimming.'),
    body: nonBlankText(10_000).optional().describe('The new body. 1 to 10,000 characters after trimming.'),
    ...editFields,
  })
  .meta({
    title: 'IdeaEdit',
    description: 'The new title or the new body of an idea, or both. A text that is left out stays.',
    examples: [{ body: ideaExamples.edited.body, if_updated_at: ideaExamples.created.updated_at }],
  });

/** The query parameters of a request that deletes an idea or a comment. */
export const DeletionQuery = z.strictObject({
  ...BoardParameter,
  reason: Reason.optional()
    .describe(reasonDescription)
    .meta({ examples: ['Spam'] }),
});

export const Deletion = z
  .object({
    id: Id.describe('The id of the deleted idea, comment, note or webhook.'),
    deleted: z.literal(true).describe('Always `true`.'),
  })
  .meta({
    title: 'Deletion',
    description: 'The idea, comment, note or webhook was deleted.',
    examples: [{ id: ideaExamples.created.id, deleted: true }],
  });

export const editIdea = c.mutation({
  method: 'PATCH',
  path: '/api/v1/ideas/:id',
  summary: 'Edit an idea',
  description: `Changes the title or the body of a published idea. The user who issued the token may edit their own ideas for ${changeMinutes} minutes, while the board accepts ideas. On a board with pre-moderation, they may not edit a published idea. A token with the \`moderate\` grant may edit every published idea at any time. If nothing would change, the edit succeeds and emits no event. With \`if_updated_at\`, the edit is refused if somebody else has changed the idea.`,
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  body: IdeaEdit,
  responses: {
    200: Idea,
    ...raises(
      ...raisedBy.writing,
      'not_found',
      'not_author',
      'token_issuer_not_moderator',
      'board_frozen',
      'submissions_not_open_yet',
      'submissions_closed',
      'change_window_closed',
      'idea_not_published',
      'idea_already_merged',
      'idea_changed',
    ),
  },
  metadata: {
    tag: 'Ideas',
    auth: 'board',
    grant: 'write',
    bucket: 'apitoken:write',
    sdk: 'ideas.edit',
    tool: {
      name: 'edit_idea',
      title: 'Edit an idea',
      description: `Replaces the title or the body of an idea. Fields that you leave out stay. Authors can edit their ideas for ${changeMinutes} minutes, and moderators every idea: then give a reason. Read the idea with get_idea first, and pass its updated_at as if_updated_at. To say something new, comment instead.`,
      resultFields: ['id', 'url', 'title', 'body', 'updated_at'],
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const deleteIdea = c.mutation({
  method: 'DELETE',
  path: '/api/v1/ideas/:id',
  summary: 'Delete an idea',
  description: `Deletes a published idea with its comments and votes. Nobody can restore the idea. The user who issued the token may delete their own ideas for ${changeMinutes} minutes, if nobody else has voted or commented. A token with the \`moderate\` grant may delete every published idea at any time. An idea into which others are merged cannot be deleted.`,
  pathParams: z.object(IdeaPath),
  query: DeletionQuery,
  body: noBody,
  responses: {
    200: Deletion,
    ...raises(
      ...raisedBy.writing,
      'not_found',
      'not_author',
      'token_issuer_not_moderator',
      'board_frozen',
      'change_window_closed',
      'idea_not_published',
      'idea_already_merged',
      'idea_in_use',
      'idea_has_merged',
    ),
  },
  metadata: {
    tag: 'Ideas',
    auth: 'board',
    grant: 'write',
    bucket: 'apitoken:write',
    sdk: 'ideas.delete',
    tool: {
      name: 'delete_idea',
      title: 'Delete an idea',
      description: `Deletes an idea with its comments and votes for good. Ask the user first. Authors can delete their ideas for ${changeMinutes} minutes if nobody else has voted or commented, and moderators every idea: then give a reason. For a duplicate, use merge_ideas instead, because a merge keeps the votes.`,
      isDestructive: true,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const ideaRoutes = { listIdeas, createIdea, editIdea, deleteIdea };
