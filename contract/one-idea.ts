import { z } from 'zod';
import { CommentList } from './comments.ts';
import { raisedBy, raises } from './errors.ts';
import { Idea } from './idea.ts';
import { IdeaPath } from './identifiers.ts';
import { defaultPerPage, queryList } from './pagination.ts';
import { BoardParameter, ConditionalHeaders, c, notModified, type RouteMetadata } from './routes.ts';
import { VoteList } from './votes.ts';

const expansions = ['comments', 'votes'] as const;
const Expansion = z.enum(expansions);

export const ExpandedIdea = Idea.extend({
  comments: CommentList.optional(),
  votes: VoteList.optional(),
}).meta({
  title: 'ExpandedIdea',
  description: 'An idea. It has `comments` or `votes`, the first page of the list, only if `expand` names them.',
  examples: Idea.meta()?.examples ?? [],
});

export const getIdea = c.query({
  method: 'GET',
  path: '/api/v1/ideas/:id',
  summary: 'Get one idea',
  description:
    'Returns one idea of the board. A merged idea has a `merged_into_id`. Only a token with the `moderate` grant can read a pending idea.',
  pathParams: z.object(IdeaPath),
  query: z.strictObject({
    ...BoardParameter,
    // This parameter has no example, because the example responses do not contain the additional fields.
    expand: queryList(Expansion, expansions.length, { type: 'string', enum: expansions })
      .optional()
      .describe(`Adds the first ${defaultPerPage} \`comments\` or \`votes\`. \`votes\` needs the \`moderate\` grant.`),
  }),
  headers: ConditionalHeaders,
  responses: {
    200: ExpandedIdea,
    ...notModified,
    ...raises(...raisedBy.onBoard, 'token_issuer_not_moderator', 'not_found'),
  },
  metadata: {
    tag: 'Ideas',
    auth: 'board',
    grant: 'read',
    bucket: 'apitoken:read',
    grantByQuery: { 'expand=votes': 'moderate' },
    sdk: 'ideas.get',
    tool: {
      name: 'get_idea',
      title: 'Get one idea',
      description:
        'Returns one idea: its whole body, status, tags, votes, and the vote of this token. If merged_into_id is set, read that idea and act on it instead. With expand, also its first comments.',
      resultFields: Object.keys(Idea.shape).concat('name', 'comments', 'votes'),
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const oneIdeaRoutes = { getIdea };
