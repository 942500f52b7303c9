import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Idea, ideaExamples } from './idea.ts';
import { IdeaPath } from './identifiers.ts';
import { listOf, onePlace, pagination } from './pagination.ts';
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
import { line, text } from './text.ts';

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

export const listIdeas = c.query({
  method: 'GET',
  path: '/api/v1/ideas',
  summary: 'List ideas',
  description:
    'Lists the published ideas of the board. Merged ideas, and ideas in a hidden status that is not asked for by `status` or `status_key`, are left out. With `moderation_state=pending`: the approval queue.',
  query: onePlace(
    z.strictObject({
      ...BoardParameter,
      status: IdeaStatus.optional()
        .describe('Ideas in any status of this category.')
        .meta({ examples: ['open'] }),
      status_key: StatusKey.optional().describe('Ideas in exactly this status; wins over `status`.'),
      q: text(0, 100)
        .optional()
        .describe('Searches titles: every word must match the beginning of a word of the title; accents are folded.')
        .meta({ examples: ['csv exp'] }),
      sort: z
        .enum(['newest', 'top'])
        .optional()
        .describe('`newest` by default; `top` is the highest score first.')
        .meta({ examples: ['newest'] }),
      moderation_state: z
        .literal('pending')
        .optional()
        .describe('The approval queue instead of the published list; needs the `moderate` grant.')
        .meta({ examples: ['pending'] }),
      ...pagination,
    }),
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
        "Lists or searches the ideas of a feedback board, newest first or highest score first, 20 to a page. Search with q before creating an idea: every word of q has to begin a word of the title, bodies are not searched, so use one or two characteristic words and try synonyms. Filter by status (what the board's statuses mean) or status_key (one exact status of the board). Merged ideas are left out, and ideas in hidden statuses unless asked for. For more, pass next_cursor as cursor while has_more is true. With moderation_state pending it lists what awaits approval, which needs the moderate grant. For one idea whose id you know, use get_idea.",
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const getIdea = c.query({
  method: 'GET',
  path: '/api/v1/ideas/:id',
  summary: 'Get one idea',
  description:
    'Answers one idea of the board. A merged idea is answered with its `merged_into_id`. A pending idea is there only for a token with the `moderate` grant.',
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  headers: ConditionalHeaders,
  responses: { 200: Idea, ...notModified, ...raises(...raisedBy.onBoard, 'not_found') },
  metadata: {
    tag: 'Ideas',
    auth: 'board',
    grant: 'read',
    bucket: 'apitoken:read',
    tool: {
      name: 'get_idea',
      title: 'Get one idea',
      description:
        'Reads one idea by its id: title, full text, status, tags, votes, the vote of this token, and merged_into_id when it was merged into another idea, which is then the one to read, vote and comment on. Its comments are not in it: list_comments has them. To find an id, use list_ideas.',
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const createIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas',
  summary: 'Create an idea',
  description:
    'Creates an idea by the user who issued the token. On a board with pre-moderation it awaits approval (`moderation_state` is `pending`) unless the token has the `moderate` grant.',
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
        'Submits a new idea to a feedback board, in the name of the user who issued the token; other people see it. First search with list_ideas: where the idea exists already, vote on it or comment on it instead, since duplicates have to be merged by hand. One wish for each idea: a title of at most 200 characters that names it, and a body in plain text (at most 10,000 characters, Markdown is shown as it is typed) that says who needs it and why. The idea may be answered with moderation_state pending: it then awaits approval by a moderator and cannot be seen until then; do not submit it again. An idea cannot be edited or deleted with these tools. Needs the write grant; writes are few in an hour (get_token says how many are left).',
      isDestructive: false,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const ideaRoutes = { listIdeas, getIdea, createIdea };
