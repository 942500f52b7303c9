import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Idea } from './idea.ts';
import { BodyId, IdeaPath, PathId } from './identifiers.ts';
import { maxTagsOfIdea } from './limits.ts';
import { BoardQuery, c, IdempotencyHeaders, noBody, type RouteMetadata } from './routes.ts';

const metadata = {
  tag: 'Moderation',
  auth: 'board',
  grant: 'moderate',
  bucket: 'apitoken:write',
} as const;

export const addIdeaTag = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/tags',
  summary: 'Assign a tag to an idea',
  description: `Assigns a tag of the board to a published idea. Changes nothing if the idea already has the tag. An idea can have at most ${maxTagsOfIdea} tags.`,
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: z.strictObject({ tag_id: BodyId.describe('The id of a tag of the board, also as a string of digits.') }).meta({
    title: 'IdeaTagInput',
    description: 'The tag to assign.',
    examples: [{ tag_id: 3 }],
  }),
  responses: {
    200: Idea,
    ...raises(
      ...raisedBy.moderating,
      ...raisedBy.idempotent,
      'not_found',
      'invalid_tag',
      'too_many_tags',
      'idea_not_published',
      'idea_already_merged',
      'board_frozen',
    ),
  },
  metadata: {
    ...metadata,
    sdk: 'ideas.addTag',
    tool: {
      name: 'add_idea_tag',
      title: 'Assign a tag to an idea',
      description:
        'Adds a tag of the board to an idea. get_board lists the tags; tags cannot be created here. Adding a tag twice changes nothing. Pending and merged ideas are refused.',
      resultFields: ['id', 'tags', 'name', 'updated_at'],
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const removeIdeaTag = c.mutation({
  method: 'DELETE',
  path: '/api/v1/ideas/:id/tags/:tagId',
  summary: 'Remove a tag from an idea',
  description: 'Removes a tag from a published idea. Changes nothing if the idea does not have the tag.',
  pathParams: z.object({
    ...IdeaPath,
    tagId: PathId.meta({ description: 'The id of a tag of the board.', examples: [3] }),
  }),
  query: BoardQuery,
  body: noBody,
  responses: {
    200: Idea,
    ...raises(...raisedBy.moderating, 'not_found', 'idea_not_published', 'idea_already_merged', 'board_frozen'),
  },
  metadata: {
    ...metadata,
    sdk: 'ideas.removeTag',
    tool: {
      name: 'remove_idea_tag',
      title: 'Remove a tag from an idea',
      description:
        'Removes a tag from an idea. The tag stays on the board. If the idea does not have the tag, nothing changes. Pending and merged ideas are refused.',
      resultFields: ['id', 'tags', 'name', 'updated_at'],
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const tagRoutes = { addIdeaTag, removeIdeaTag };
