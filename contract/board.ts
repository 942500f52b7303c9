import { initContract } from '@ts-rest/core';
import { z } from 'zod';
import { raisedBy, raises } from './errors.ts';
import { Id } from './identifiers.ts';
import { BoardQuery, ConditionalHeaders, notModified, type RouteMetadata } from './routes.ts';
import { Status } from './status.ts';
import { Tag } from './tag.ts';
import { Timestamp } from './text.ts';

const c = initContract();

export const Board = z
  .object({
    id: Id,
    slug: z.string(),
    name: z.string(),
    description: z.string(),
    is_frozen: z.boolean().describe('A frozen board accepts no writes.'),
    pre_moderation: z.boolean().describe('New ideas await approval.'),
    submissions_open_at: Timestamp.nullable(),
    submissions_close_at: Timestamp.nullable(),
    voting_open_at: Timestamp.nullable(),
    voting_close_at: Timestamp.nullable(),
  })
  .meta({ title: 'Board', description: 'A board: its settings and its two windows.' });

export const BoardDetails = z
  .object({
    board: Board,
    statuses: z.array(Status).describe('The status registry, in its order.'),
    tags: z.array(Tag).describe('The tags of the board, by name.'),
  })
  .meta({
    title: 'BoardDetails',
    description: 'A board with its status registry and its tags.',
    examples: [
      {
        board: {
          id: 1,
          slug: 'web-app',
          name: 'Web app',
          description: 'What should the web app learn next?',
          is_frozen: false,
          pre_moderation: false,
          submissions_open_at: null,
          submissions_close_at: null,
          voting_open_at: null,
          voting_close_at: null,
        },
        statuses: [
          { key: 'open', category: 'inbox', label: 'Open', is_hidden: false, allow_votes: true, allow_comments: true },
        ],
        tags: [{ id: 3, name: 'Billing', color: '#0f766e' }],
      },
    ],
  });

export const getBoard = c.query({
  method: 'GET',
  path: '/api/v1/board',
  summary: 'Get the board',
  description: 'Answers the resolved board with its status registry and its tags.',
  query: BoardQuery,
  headers: ConditionalHeaders,
  responses: { 200: BoardDetails, ...notModified, ...raises(...raisedBy.onBoard) },
  metadata: { tag: 'Board', auth: 'board', grant: 'read', bucket: 'apitoken:read' } as const satisfies RouteMetadata,
});
