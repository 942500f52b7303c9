import { z } from 'zod';
import { word } from './text.ts';

/** The categories of the status registry, in the order of an idea's life. */
export const statusCategories = ['inbox', 'planned', 'active', 'completed', 'declined', 'archived'] as const;
export const StatusCategory = z.enum(statusCategories);
export type StatusCategory = z.infer<typeof StatusCategory>;

/** The value of an idea's `status` for each `status_category`. */
export const statusOfCategory = {
  inbox: 'open',
  planned: 'planned',
  active: 'in_progress',
  completed: 'done',
  declined: 'declined',
  archived: 'archived',
} as const satisfies Record<StatusCategory, string>;

export const IdeaStatus = z.enum(['open', 'planned', 'in_progress', 'done', 'declined', 'archived']);
export type IdeaStatus = z.infer<typeof IdeaStatus>;

export const StatusKey = word(50).meta({ examples: ['planned'] });

const isOpen = { is_hidden: false, allow_votes: true, allow_comments: true };

/** A registry as a board may have it: what is decided takes no more votes, and what is archived is hidden. */
export const statusExamples = [
  { key: 'open', category: 'inbox', label: 'Open', ...isOpen },
  { key: 'planned', category: 'planned', label: 'Planned', ...isOpen },
  { key: 'in_progress', category: 'active', label: 'In progress', ...isOpen },
  { key: 'done', category: 'completed', label: 'Done', ...isOpen, allow_votes: false },
  { key: 'declined', category: 'declined', label: 'Declined', ...isOpen, allow_votes: false },
  {
    key: 'archived',
    category: 'archived',
    label: 'Archived',
    is_hidden: true,
    allow_votes: false,
    allow_comments: false,
  },
];

export const Status = z
  .object({
    key: z.string().describe('The value for a status change; custom statuses included.'),
    category: StatusCategory.describe('What the status means, whatever the board calls it.'),
    label: z.string().describe("The board's label."),
    is_hidden: z.boolean().describe('Ideas in this status are left out of lists that do not ask for it.'),
    allow_votes: z.boolean().describe('When false, voting on ideas in this status answers 423.'),
    allow_comments: z.boolean().describe('When false, commenting on ideas in this status answers 423.'),
  })
  .meta({ title: 'Status', description: "An entry of a board's status registry.", examples: [statusExamples[0]] });
