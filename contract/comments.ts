import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Author, people } from './idea.ts';
import { Deletion, DeletionQuery, editFields } from './ideas.ts';
import { CommentPath, Id, IdeaPath } from './identifiers.ts';
import { changeMinutes } from './limits.ts';
import { listOf, onePlace, pagination } from './pagination.ts';
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
import { nonBlankText, Timestamp, userText } from './text.ts';

const written = {
  first: {
    id: 1000,
    idea_id: 42,
    body: 'Please include the tags of each idea.',
    author: people.jun,
    created_at: '2026-03-15T10:40:11.308Z',
    updated_at: '2026-03-15T10:40:11.308Z',
    official: false,
  },
  second: {
    id: 1001,
    idea_id: 42,
    body: 'A semicolon as separator would help us in Europe.',
    author: people.ada,
    created_at: '2026-03-15T11:02:00.000Z',
    updated_at: '2026-03-15T11:02:00.000Z',
    official: false,
  },
  official: {
    id: 1002,
    idea_id: 42,
    body: 'We will build this in spring.',
    author: people.ada,
    created_at: '2026-03-18T13:05:41.902Z',
    updated_at: '2026-03-18T13:05:41.902Z',
    official: true,
  },
};

export const commentExamples = {
  ...written,
  edited: {
    ...written.second,
    body: 'A semicolon as separator would help us in Europe, where Excel expects one.',
    updated_at: '2026-03-15T11:04:31.275Z',
  },
};

export const Comment = z
  .object({
    id: Id,
    idea_id: Id.describe('The idea that the comment belongs to.'),
    body: userText.describe('The comment, in plain text.'),
    author: Author,
    created_at: Timestamp.describe('When the comment was written.'),
    updated_at: Timestamp.describe('When the comment was written or last edited. Each edit increases this time.'),
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
export const CommentText = nonBlankText(500);

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
    sdk: 'ideas.comment',
    tool: {
      name: 'comment_on_idea',
      title: 'Comment on an idea',
      description: `Adds a comment in the name of the user who issued the token. Readers see it, and followers are notified. The same user cannot comment twice in a row: read list_comments first, and say everything at once. To support an idea, vote instead. Within ${changeMinutes} minutes, edit_comment and delete_comment can correct a mistake.`,
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
    sdk: 'ideas.comments',
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

export const CommentEdit = z
  .strictObject({ body: CommentText.describe('The new text. 1 to 500 characters after trimming.'), ...editFields })
  .meta({
    title: 'CommentEdit',
    description: 'The new text of a comment.',
    examples: [{ body: commentExamples.edited.body, if_updated_at: commentExamples.second.updated_at }],
  });

export const editComment = c.mutation({
  method: 'PATCH',
  path: '/api/v1/ideas/:id/comments/:commentId',
  summary: 'Edit a comment',
  description: `Replaces the text of a comment. The user who issued the token may edit their own comments for ${changeMinutes} minutes. A token with the \`moderate\` grant may edit every comment at any time. If nothing would change, the edit succeeds and emits no event. With \`if_updated_at\`, the edit is refused if the comment has changed since this time.`,
  pathParams: z.object(CommentPath),
  query: BoardQuery,
  body: CommentEdit,
  responses: {
    200: Comment,
    ...raises(
      ...raisedBy.writing,
      'not_found',
      'not_author',
      'token_issuer_not_moderator',
      'board_frozen',
      'status_comments_closed',
      'change_window_closed',
      'idea_not_published',
      'idea_already_merged',
      'comment_changed',
    ),
  },
  metadata: {
    tag: 'Comments',
    auth: 'board',
    grant: 'write',
    bucket: 'apitoken:write',
    sdk: 'ideas.editComment',
    tool: {
      name: 'edit_comment',
      title: 'Edit a comment',
      description: `Replaces the text of a comment. Authors can edit their comments for ${changeMinutes} minutes, and moderators every comment: then give a reason. Read it with list_comments first, and pass its updated_at as if_updated_at.`,
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const deleteComment = c.mutation({
  method: 'DELETE',
  path: '/api/v1/ideas/:id/comments/:commentId',
  summary: 'Delete a comment',
  description: `Deletes a comment. Nobody can restore the comment. The user who issued the token may delete their own comments for ${changeMinutes} minutes. A token with the \`moderate\` grant may delete every comment at any time. A deletion is also possible on a merged idea and in a status that accepts no comments.`,
  pathParams: z.object(CommentPath),
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
    ),
  },
  metadata: {
    tag: 'Comments',
    auth: 'board',
    grant: 'write',
    bucket: 'apitoken:write',
    sdk: 'ideas.deleteComment',
    tool: {
      name: 'delete_comment',
      title: 'Delete a comment',
      description: `Deletes a comment for good. Ask the user first. Authors can delete their comments for ${changeMinutes} minutes, and moderators every comment: then give a reason.`,
      isDestructive: true,
      isIdempotent: false,
    },
  } as const satisfies RouteMetadata,
});

export const commentRoutes = { commentOnIdea, listComments, editComment, deleteComment };
