import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Idea } from './idea.ts';
import { IdeaPath } from './identifiers.ts';
import { BoardQuery, c, IdempotencyHeaders, type RouteMetadata } from './routes.ts';
import { StatusKey } from './status.ts';

export const setIdeaStatus = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/status',
  summary: 'Set the status of an idea',
  description:
    "Moves a published idea to a status of the board's registry, which can be a custom status. Emits `idea.status_changed` and notifies the followers. Changes nothing and emits no event if the idea already has the status.",
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: z
    .strictObject({ status: StatusKey.describe("A key of the board's status registry.") })
    .meta({ title: 'IdeaStatusInput', description: 'The status to set.', examples: [{ status: 'planned' }] }),
  responses: {
    200: Idea,
    ...raises(
      ...raisedBy.moderating,
      ...raisedBy.idempotent,
      'not_found',
      'invalid_status',
      'idea_not_published',
      'idea_already_merged',
      'board_frozen',
    ),
  },
  metadata: {
    tag: 'Moderation',
    auth: 'board',
    grant: 'moderate',
    bucket: 'apitoken:write',
    tool: {
      name: 'set_idea_status',
      title: 'Set the status of an idea',
      description:
        'Moves an idea to another status of its board, such as planned or done. Followers, webhooks and chats are notified, so set a status only after the decision. Setting the same status changes nothing. Pending and merged ideas are refused.',
      resultFields: ['id', 'status', 'status_key', 'status_category', 'status_label', 'updated_at'],
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const statusRoutes = { setIdeaStatus };
