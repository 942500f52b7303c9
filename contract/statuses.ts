import { z } from 'zod';
import { CommentText } from './comments.ts';
import { raisedBy, raises } from './errors.ts';
import { Idea } from './idea.ts';
import { IdeaPath } from './identifiers.ts';
import { BoardQuery, c, IdempotencyHeaders, type RouteMetadata } from './routes.ts';
import { WantedStatusKey } from './status.ts';

export const setIdeaStatus = c.mutation({
  method: 'POST',
  path: '/api/v1/ideas/:id/status',
  summary: 'Set the status of an idea',
  description:
    "Moves a published idea to a status of the board's registry, which can be a custom status. Emits `idea.status_changed` and notifies the followers. Changes nothing and emits no event if the idea already has the status.\n\nWith `reply`, also adds an official reply: a comment with `official` set, which the idea's page shows above the comments. Then emits `comment.created` first. The rules of the action `comments` for closed statuses and for a second comment in a row do not apply to an official reply. If the idea already has the status, only the reply is added, and nothing changes if it is the same as the newest official reply.",
  pathParams: z.object(IdeaPath),
  query: BoardQuery,
  headers: IdempotencyHeaders,
  body: z
    .strictObject({
      status: WantedStatusKey.describe("A key of the board's status registry."),
      reply: CommentText.optional().describe(
        'An official reply to the idea, for example the reason for the status. Plain text, 1 to 500 characters after trimming.',
      ),
    })
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
    sdk: 'ideas.setStatus',
    tool: {
      name: 'set_idea_status',
      title: 'Set the status of an idea',
      description:
        'Moves an idea to another status of its board, such as planned or done. Followers, webhooks and chats are notified, so set a status only after the decision. reply adds an official reply in the name of the user who issued the token, which everybody sees above the comments. Setting the same status and reply changes nothing. Pending and merged ideas are refused.',
      resultFields: ['id', 'status', 'status_key', 'status_category', 'status_label', 'updated_at'],
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const statusRoutes = { setIdeaStatus };
