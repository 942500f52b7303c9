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

export const Status = z
  .object({
    key: z.string().describe('The value for a status change; custom statuses included.'),
    category: StatusCategory,
    label: z.string().describe("The board's label."),
    is_hidden: z.boolean().describe('Ideas in this status are left out of lists that do not ask for it.'),
    allow_votes: z.boolean().describe('When false, voting on ideas in this status answers 423.'),
    allow_comments: z.boolean().describe('When false, commenting on ideas in this status answers 423.'),
  })
  .meta({ title: 'Status', description: "An entry of a board's status registry." });
