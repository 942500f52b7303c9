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
    "Moves a published idea to a status of the board's registry, custom statuses included. Setting the status that the idea has changes nothing and emits no event; otherwise `idea.status_changed` is emitted and followers are notified.",
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
        'Moves an idea to another status of its board, such as planned or done. The followers of the idea are told, and so are the webhooks and chats of the account, so set it only when it was decided. The value is the key of a status, which get_board lists; boards may have statuses of their own. Setting the status that the idea has already changes nothing and tells nobody. Pending and merged ideas are refused. Needs the moderate grant, and that the user who issued the token is a moderator. Counts as a write, also when nothing changes; writes are few in an hour (get_token says how many are left).',
      isDestructive: true,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const statusRoutes = { setIdeaStatus };
