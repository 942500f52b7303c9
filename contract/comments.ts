import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Author, people } from './idea.ts';
import { Id, IdeaPath } from './identifiers.ts';
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
import { Timestamp, text, userText } from './text.ts';

export const commentExamples = {
  first: {
    id: 1000,
    idea_id: 42,
    body: 'Please include the tags of each idea.',
    author: people.jun,
    created_at: '2026-03-15T10:40:11.308Z',
    official: false,
  },
  second: {
    id: 1001,
    idea_id: 42,
    body: 'A semicolon as separator would help us in Europe.',
    author: people.ada,
    created_at: '2026-03-15T11:02:00.000Z',
    official: false,
  },
  official: {
    id: 1002,
    idea_id: 42,
    body: 'We will build this in spring.',
    author: people.ada,
    created_at: '2026-03-18T13:05:41.902Z',
    official: true,
  },
};

export const Comment = z
  .object({
    id: Id,
    idea_id: Id.describe('The idea that the comment belongs to.'),
    body: userText.describe('The comment, in plain text.'),
    author: Author,
    created_at: Timestamp.describe('When the comment was written.'),
    official: z.boolean().describe('Whether a moderator wrote it as an official reply, together with a status.'),
  })
  .meta({
    title: 'Comment',
    description: 'A comment on an idea, in plain text.',
    examples: [commentExamples.second],
  });

export const CommentList = listOf(Comment, 'CommentList', 'A page of comments, oldest first.', {
  data: [commentExamples.first, commentExamples.second],
  page: 1,
  per_page: 20,
  has_more: false,
  next_cursor: null,
});

/** The text of a comment or of an official reply. */
export const CommentText = text(1, 500);

export const CommentInput = z
  .strictObject({ body: CommentText.describe('Plain text, 1 to 500 characters after trimming.') })
  .meta({
    title: 'CommentInput',
    description: 'The comment to add.',
    examples: [{ body: commentExamples.second.body }],
  });

export const commentOnIdea = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/comments',
  summary: 'Comment on an idea',
  description:
    'Adds a comment by the user who issued the token. The same user cannot comment twice in a row: `consecutive_comment`.',
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: CommentInput,
  responses: {
    201: Comment,
    ...raises(
      ...raisedBy.writing,
      ...raisedBy.idempotent,
      'not_found',
      'board_frozen',
      'status_comments_closed',
      'consecutive_comment',
      'idea_not_published',
      'idea_already_merged',
    ),
  },
  metadata: {
    tag: 'Comments',
    auth: 'board',
    grant: 'write',
    bucket: 'apitoken:write',
    tool: {
      name: 'comment_on_idea',
      title: 'Comment on an idea',
      description:
        'Adds a comment in the name of the user who issued the token. Readers see it, and followers are notified. The same user cannot comment twice in a row: read list_comments first, and say everything at once. To support an idea, vote instead. Comments cannot be edited or deleted here.',
      isDestructive: false,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const listComments = c.query({
  method: 'GET',
  path: '/api/v1/ideas/:id/comments',
  summary: 'List the comments of an idea',
  description: 'Returns the comments of an idea, oldest first.',
  pathParams: z.object(IdeaPath),
  query: onePlace(z.strictObject({ ...BoardParameter, ...pagination })),
  headers: ConditionalHeaders,
  responses: { 200: CommentList, ...notModified, ...raises(...raisedBy.onBoard, 'not_found') },
  metadata: {
    tag: 'Comments',
    auth: 'board',
    grant: 'read',
    bucket: 'apitoken:read',
    tool: {
      name: 'list_comments',
      title: 'List the comments of an idea',
      description:
        'Lists the comments of an idea, oldest first, 20 per page. Read them before you comment: repeat nothing.',
      resultFields: ['data', 'id', 'body', 'author', 'name', 'created_at', 'official', 'has_more', 'next_cursor'],
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const commentRoutes = { commentOnIdea, listComments };
