import { z } from 'zod';
import { Id } from './identifiers.ts';
import { IdeaStatus, StatusCategory } from './status.ts';
import { Tag, tagExample } from './tag.ts';
import { Timestamp, userText } from './text.ts';

export const VoteValue = z.enum(['up', 'down', 'none']);
export type VoteValue = z.infer<typeof VoteValue>;

/** The orders of a list of ideas. */
export const ideaSorts = ['newest', 'top', 'updated', 'comments', 'trending'] as const;
export type IdeaSort = (typeof ideaSorts)[number];

/** The users in the examples. Ada issued the token of the examples. */
export const people = { ada: { id: 7, name: 'Ada Osei' }, jun: { id: 12, name: 'Jun Park' } };

export const Author = z.object({ id: Id, name: userText.describe("The user's name.") }).meta({
  title: 'Author',
  description: 'The author of an idea or a comment.',
  examples: [people.ada],
});

const IdeaFields = z.object({
  id: Id,
  title: userText.describe('A summary of the request, on one line.'),
  body: userText.describe('The details, in plain text.'),
  body_truncated: z.boolean().describe('Whether `body` is only an excerpt, the beginning of a longer body.'),
  status: IdeaStatus.describe('The status category, as a value of the `status` filter.'),
  status_key: z.string().describe('The exact status; equals `status` unless the board defines custom statuses.'),
  status_category: StatusCategory.describe('The meaning of the status, independent of its label.'),
  status_label: z.string().describe("The board's label for the status."),
  moderation_state: z.enum(['published', 'pending']).describe('`pending` while the idea awaits approval.'),
  score: z.int().describe('`up_count` minus `down_count`.'),
  up_count: z.int().min(0).describe('Votes for the idea.'),
  down_count: z.int().min(0).describe('Votes against the idea.'),
  comment_count: z.int().min(0).describe('Comments on the idea.'),
  my_vote: VoteValue.describe("The token's own vote."),
  tags: z.array(Tag).describe('The tags of the idea.'),
  author: Author,
  merged_into_id: Id.nullable().describe('The id of the idea that this one is merged into; null: not merged.'),
  created_at: Timestamp.describe('When the idea was created.'),
  updated_at: Timestamp.describe(
    'When the title, body, status, tags, approval or merge of the idea last changed. Each change increases this time.',
  ),
  url: z
    .string()
    .describe(
      "The address of the idea's page for people, as in mails and chat messages. The page opens only for people who may see the idea.",
    ),
});

const created = {
  id: 42,
  title: 'Export a board as CSV',
  body: 'We report to our steering group in a spreadsheet every month.',
  body_truncated: false,
  status: 'open',
  status_key: 'open',
  status_category: 'inbox',
  status_label: 'Open',
  moderation_state: 'published',
  score: 0,
  up_count: 0,
  down_count: 0,
  comment_count: 0,
  my_vote: 'none',
  tags: [],
  author: people.ada,
  merged_into_id: null,
  created_at: '2026-03-14T09:26:53.589Z',
  updated_at: '2026-03-14T09:26:53.589Z',
  url: 'https://ideas.example.com/b/web-app/ideas/42',
} satisfies Idea;

const discussed = {
  ...created,
  score: 17,
  up_count: 19,
  down_count: 2,
  comment_count: 2,
  my_vote: 'up',
  tags: [tagExample],
  updated_at: '2026-03-15T10:00:00.000Z',
} satisfies Idea;

const duplicate = {
  ...created,
  id: 57,
  title: 'Download all ideas as a spreadsheet',
  body: 'Copying them by hand takes me an afternoon.',
  score: 4,
  up_count: 4,
  author: people.jun,
  created_at: '2026-03-16T08:12:30.250Z',
  updated_at: '2026-03-16T08:12:30.250Z',
  url: 'https://ideas.example.com/b/web-app/ideas/57',
} satisfies Idea;

/**
 * The two ideas that all examples show: one idea in several versions, and a duplicate that is merged into this idea.
 */
export const ideaExamples = {
  created,
  pending: { ...created, moderation_state: 'pending' },
  edited: {
    ...created,
    body: 'We report to our steering group in a spreadsheet every quarter.',
    updated_at: '2026-03-14T09:31:20.040Z',
  },
  discussed,
  untagged: { ...discussed, tags: [], updated_at: '2026-03-15T11:30:00.000Z' },
  planned: {
    ...discussed,
    status: 'planned',
    status_key: 'planned',
    status_category: 'planned',
    status_label: 'Planned',
    updated_at: '2026-03-18T13:05:41.902Z',
  },
  duplicate,
  merged: { ...duplicate, merged_into_id: discussed.id, updated_at: '2026-03-17T15:40:05.117Z' },
  // The duplicate has four voters. One of these voters has also voted for the target, so the target gets only three
  // more votes.
  mergedInto: { ...discussed, score: 20, up_count: 22 },
  unmerged: { ...duplicate, updated_at: '2026-03-17T16:02:59.430Z' },
} satisfies Record<string, Idea>;

export const Idea = IdeaFields.meta({
  title: 'Idea',
  description: 'An idea on a board.',
  examples: [ideaExamples.discussed],
});
export type Idea = z.infer<typeof IdeaFields>;
