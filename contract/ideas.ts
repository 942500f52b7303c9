import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Idea, ideaExamples, ideaSorts } from './idea.ts';
import { excerptLength, maxIdsOfRequest } from './limits.ts';
import { listOf, onePlace, pagination, queryInteger, queryList } from './pagination.ts';
import {
  BoardParameter,
  BoardQuery,
  ConditionalHeaders,
  c,
  IdempotencyHeaders,
  notModified,
  type RouteMetadata,
} from './routes.ts';
import { IdeaStatus, StatusKey } from './status.ts';
import { GivenTimestamp, line, text } from './text.ts';

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
    title: line(1, 200).describe('1 to 200 characters after trimming.'),
    body: text(1, 10_000).describe('1 to 10,000 characters after trimming.'),
  })
  .meta({
    title: 'IdeaInput',
    description: 'The idea to create.',
    examples: [{ title: ideaExamples.created.title, body: ideaExamples.created.body }],
  });

/** A schema for an id in a query string, such as the id of a tag. */
const QueryId = queryInteger(1, Number.MAX_SAFE_INTEGER);

/** The parameters that can be combined with `ids`. Filters, orders and pages make no sense for known ideas. */
const besideIds = ['ids', 'board', 'body'];

/** Extends the schema of a query so that it refuses filters, orders and pages beside ids. */
function idsAlone<T extends z.ZodType<{ ids?: unknown }>>(query: T) {
  return query.refine(given => given.ids === undefined || Object.keys(given).every(name => besideIds.includes(name)), {
    error: 'Only board and body can be combined with ids',
    path: ['ids'],
  });
}

export const listIdeas = c.query({
  method: 'GET',
  path: '/api/v1/ideas',
  summary: 'List ideas',
  description:
    'Returns the published ideas of the board. Leaves out merged ideas, and ideas in a hidden status unless `status` or `status_key` asks for it. An idea must match all filters. With `moderation_state=pending`, returns the approval queue. With `ids`, returns these ideas.',
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
          'Ideas with an `updated_at` at this time or later. Votes and comments do not change it.',
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
        // The ids have no example. Together with the other examples they would make an invalid request.
        ids: queryList(QueryId, maxIdsOfRequest, { type: 'integer', format: 'int64', minimum: 1 })
          .optional()
          .describe(
            `Returns the ideas with these ids in this order, also if they are merged or hidden. Leaves out unknown ids. Cannot be combined with filters, \`sort\` or pages. At most ${maxIdsOfRequest} ids.`,
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

export const createIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas',
  summary: 'Create an idea',
  description:
    'Creates an idea by the user who issued the token. On a board with pre-moderation the idea awaits approval (`moderation_state` is `pending`), unless the token has the `moderate` grant.',
  query: BoardQuery,
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
    ),
  },
  metadata: {
    tag: 'Ideas',
    auth: 'board',
    grant: 'write',
    bucket: 'apitoken:write',
    tool: {
      name: 'create_idea',
      title: 'Create an idea',
      description:
        'Submits an idea in the name of the user who issued the token. Other people see it. First search with list_ideas: if an idea asks for the same, vote or comment on it instead. Submit one request per idea. The title names it, and the body says who needs it and why. If moderation_state is pending, a moderator must approve the idea first: do not submit it again. Ideas cannot be edited or deleted here.',
      resultFields: ['id', 'url', 'title', 'body', 'status', 'status_key', 'moderation_state', 'created_at'],
      isDestructive: false,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const ideaRoutes = { listIdeas, createIdea };
