import { z } from 'zod';
import { word } from './text.ts';

/** The categories of statuses, in the order in which an idea usually goes through them. */
export const statusCategories = ['inbox', 'planned', 'active', 'completed', 'declined', 'archived'] as const;
export const StatusCategory = z.enum(statusCategories);
export type StatusCategory = z.infer<typeof StatusCategory>;

/** The value of an idea's field `status` for each `status_category`. */
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

/**
 * The key in a request for a status change. The schema accepts any text, so that every key that the registry lacks gets
 * the same error: `invalid_status`.
 */
export const WantedStatusKey = z.string().meta({ examples: ['planned'] });

const isOpen = { is_hidden: false, allow_votes: true, allow_comments: true };

/**
 * The statuses of the example board. Completed, declined and archived ideas accept no more votes, and archived ideas
 * are hidden.
 */
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
    key: z.string().describe('The value for a status change. Custom statuses have their own keys.'),
    category: StatusCategory.describe('The meaning of the status, independent of its label.'),
    label: z.string().describe("The board's label."),
    is_hidden: z.boolean().describe('Lists leave out ideas in this status unless they filter for it.'),
    allow_votes: z.boolean().describe('If false, voting on ideas in this status returns 423.'),
    allow_comments: z.boolean().describe('If false, commenting on ideas in this status returns 423.'),
  })
  .meta({ title: 'Status', description: "An entry of a board's status registry.", examples: [statusExamples[0]] });
