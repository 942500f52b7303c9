import { z } from 'zod';
import { Id } from './identifiers.ts';
import { IdeaStatus, StatusCategory } from './status.ts';
import { Tag } from './tag.ts';
import { Timestamp } from './text.ts';

export const VoteValue = z.enum(['up', 'down', 'none']);
export type VoteValue = z.infer<typeof VoteValue>;

export const Author = z
  .object({ id: Id, name: z.string() })
  .meta({ title: 'Author', description: 'The user to whom an idea or a comment is attributed.' });

const exampleIdea = {
  id: 42,
  title: 'Export a board as CSV',
  body: 'We report to our steering group in a spreadsheet every month.',
  status: 'open',
  status_key: 'open',
  status_category: 'inbox',
  status_label: 'Open',
  moderation_state: 'published',
  score: 17,
  up_count: 19,
  down_count: 2,
  comment_count: 4,
  my_vote: 'up',
  tags: [{ id: 3, name: 'Billing', color: '#0f766e' }],
  author: { id: 7, name: 'Ada Osei' },
  merged_into_id: null,
  created_at: '2026-03-14T09:26:53.589Z',
  updated_at: '2026-03-15T10:00:00.000Z',
};

export const Idea = z
  .object({
    id: Id,
    title: z.string(),
    body: z.string(),
    status: IdeaStatus.describe('The status category, in the words of the `status` filter.'),
    status_key: z.string().describe('The exact status; equals `status` unless the board defines custom statuses.'),
    status_category: StatusCategory,
    status_label: z.string().describe("The board's label for the status."),
    moderation_state: z.enum(['published', 'pending']).describe('`pending` while the idea awaits approval.'),
    score: z.int().describe('`up_count` less `down_count`.'),
    up_count: z.int().min(0),
    down_count: z.int().min(0),
    comment_count: z.int().min(0),
    my_vote: VoteValue.describe("The token's own vote."),
    tags: z.array(Tag),
    author: Author,
    merged_into_id: Id.nullable().describe('The idea into which this one is merged.'),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ title: 'Idea', description: 'An idea on a board.', examples: [exampleIdea] });
export type Idea = z.infer<typeof Idea>;
