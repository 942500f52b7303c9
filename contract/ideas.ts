import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Idea, ideaExamples } from './idea.ts';
import { IdeaPath } from './identifiers.ts';
import { listOf, onePlace, pagination } from './pagination.ts';
import {
  BoardParameter,
  BoardQuery,
  ConditionalHeaders,
  IdempotencyHeaders,
  notModified,
  type RouteMetadata,
} from './routes.ts';
import { IdeaStatus, StatusKey } from './status.ts';
import { text } from './text.ts';

const c = initContract();

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
    title: text(1, 200).describe('1 to 200 characters after trimming.'),
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
  metadata: { tag: 'Ideas', auth: 'board', grant: 'read', bucket: 'apitoken:read' } as const satisfies RouteMetadata,
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
  metadata: { tag: 'Ideas', auth: 'board', grant: 'write', bucket: 'apitoken:write' } as const satisfies RouteMetadata,
});
