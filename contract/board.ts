import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Id } from './identifiers.ts';
import { BoardQuery, ConditionalHeaders, c, notModified, type RouteMetadata } from './routes.ts';
import { Status, statusExamples } from './status.ts';
import { Tag, tagExample } from './tag.ts';
import { Timestamp } from './text.ts';

export const boardExample = {
  id: 1,
  slug: 'web-app',
  name: 'Web app',
  description: 'Tell us how to improve the web app.',
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
    slug: z.string().describe('The value for the `board` parameter.'),
    name: z.string().describe("The board's name."),
    description: z.string().describe('The purpose of the board, in plain text. It can be empty.'),
    is_frozen: z.boolean().describe('A frozen board accepts no writes.'),
    pre_moderation: z.boolean().describe('New ideas await approval.'),
    submissions_open_at: Timestamp.nullable().describe('When the board starts to accept ideas; null: no limit.'),
    submissions_close_at: Timestamp.nullable().describe('When the board stops accepting ideas; null: no limit.'),
    voting_open_at: Timestamp.nullable().describe('When the board starts to accept votes; null: no limit.'),
    voting_close_at: Timestamp.nullable().describe('When the board stops accepting votes; null: no limit.'),
  })
  .meta({
    title: 'Board',
    description: 'A board with its settings and its two windows, for submissions and for voting.',
    examples: [boardExample],
  });

export const BoardDetails = z
  .object({
    board: Board,
    statuses: z.array(Status).describe('The status registry, in order.'),
    tags: z.array(Tag).describe('The tags of the board, sorted by name.'),
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
  description: 'Returns the board with its status registry and its tags.',
  query: BoardQuery,
  headers: ConditionalHeaders,
  responses: { 200: BoardDetails, ...notModified, ...raises(...raisedBy.onBoard) },
  metadata: {
    tag: 'Board',
    auth: 'board',
    grant: 'read',
    bucket: 'apitoken:read',
    sdk: 'board.get',
    tool: {
      name: 'get_board',
      title: 'Get the board',
      description:
        'Returns one board: its purpose, whether it takes ideas and votes now (is_frozen and the submission and voting windows), its statuses (keys for set_idea_status) and its tags (ids for add_idea_tag and remove_idea_tag).',
      isDestructive: false,
      isIdempotent: true,
    },
  } as const satisfies RouteMetadata,
});

export const boardRoutes = { getBoard };
