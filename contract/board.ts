import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Id } from './identifiers.ts';
import { BoardQuery, ConditionalHeaders, c, notModified, type RouteMetadata } from './routes.ts';
import { Status, statusExamples } from './status.ts';
import { Tag, tagExample } from './tag.ts';
import { Timestamp } from './text.ts';

/** The board of every example. */
export const boardExample = {
  id: 1,
  slug: 'web-app',
  name: 'Web app',
  description: 'What should the web app learn next?',
  is_frozen: false,
  pre_moderation: false,
  submissions_open_at: null,
  submissions_close_at: null,
  voting_open_at: null,
  voting_close_at: '2026-12-31T23:00:00.000Z',
};

export const Board = z
  .object({
    id: Id,
    slug: z.string().describe('What the `board` parameter takes.'),
    name: z.string().describe("The board's name."),
    description: z.string().describe('What the board is for, in plain text; may be empty.'),
    is_frozen: z.boolean().describe('A frozen board accepts no writes.'),
    pre_moderation: z.boolean().describe('New ideas await approval.'),
    submissions_open_at: Timestamp.nullable().describe('No idea is created before; null: no such bound.'),
    submissions_close_at: Timestamp.nullable().describe('No idea is created from then on; null: no such bound.'),
    voting_open_at: Timestamp.nullable().describe('No vote is taken before; null: no such bound.'),
    voting_close_at: Timestamp.nullable().describe('No vote is taken from then on; null: no such bound.'),
  })
  .meta({ title: 'Board', description: 'A board: its settings and its two windows.', examples: [boardExample] });

export const BoardDetails = z
  .object({
    board: Board,
    statuses: z.array(Status).describe('The status registry, in its order.'),
    tags: z.array(Tag).describe('The tags of the board, by name.'),
  })
  .meta({
    title: 'BoardDetails',
    description: 'A board with its status registry and its tags.',
    examples: [{ board: boardExample, statuses: statusExamples, tags: [tagExample] }],
  });

export const getBoard = c.query({
  method: 'GET',
  path: '/api/v1/board',
  summary: 'Get the board',
  description: 'Answers the resolved board with its status registry and its tags.',
  query: BoardQuery,
  headers: ConditionalHeaders,
  responses: { 200: BoardDetails, ...notModified, ...raises(...raisedBy.onBoard) },
  metadata: {
    tag: 'Board',
    auth: 'board',
    grant: 'read',
    bucket: 'apitoken:read',
    tool: {
      name: 'get_board',
      title: 'Get the board',
      description:
        'Reads one feedback board: its name and purpose, whether it takes ideas and votes now (is_frozen, and the windows of submission and voting), its statuses and its tags. Call it before creating or moderating: set_idea_status takes the keys of these statuses, add_idea_tag and remove_idea_tag the ids of these tags. It has no ideas: list_ideas has them. Which boards there are, get_token says.',
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const boardRoutes = { getBoard };
