import { readFileSync } from 'node:fs';
import { z } from 'zod';

const DemoPerson = z.strictObject({
  /** The key of the person. Ideas and comments refer to the person by this key. The database does not store it. */
  key: z.string(),
  name: z.string(),
  email: z.string(),
  role: z.enum(['owner', 'admin', 'moderator', 'member']),
});

const DemoStatus = z.strictObject({
  key: z.string(),
  category: z.enum(['inbox', 'planned', 'active', 'completed', 'declined', 'archived']),
  label: z.string(),
  isHidden: z.boolean().exactOptional(),
  allowVotes: z.boolean().exactOptional(),
  allowComments: z.boolean().exactOptional(),
});

const DemoIdea = z.strictObject({
  title: z.string(),
  body: z.string(),
  /** The key of the person who wrote the idea. */
  author: z.string(),
  /** The key of one of the board's idea statuses. */
  status: z.string(),
  /** The names of the idea's tags, which must be tags of the board. */
  tags: z.array(z.string()),
  daysAgo: z.number(),
  /** The share of people who vote on the idea, from 0 to 1. */
  popularity: z.number(),
  /** Whether the idea awaits approval. The board must have pre-moderation. */
  pending: z.literal(true).exactOptional(),
  /** The title of the target idea on the same board, if this idea is merged. */
  mergedInto: z.string().exactOptional(),
  comments: z.array(z.strictObject({ by: z.string(), body: z.string() })).exactOptional(),
});

const DemoBoard = z.strictObject({
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  preModeration: z.boolean(),
  /** The board's idea statuses. 'default' means open, planned, in_progress, done, declined and archived. */
  statuses: z.union([z.literal('default'), z.array(DemoStatus)]),
  tags: z.array(z.strictObject({ name: z.string(), color: z.string() })),
  ideas: z.array(DemoIdea),
});

export type DemoIdea = z.output<typeof DemoIdea>;
export type DemoBoard = z.output<typeof DemoBoard>;

export interface DemoData {
  account: { name: string; slug: string };
  people: z.output<typeof DemoPerson>[];
  boards: DemoBoard[];
}

/**
 * Reads the demo data, which `npm start` puts into an empty database. The files are read only at that start. Fieldwren
 * is an invented product: scheduling, quotes and invoices for small crews.
 */
export function readDemoData(): DemoData {
  return {
    account: { name: 'Fieldwren', slug: 'fieldwren' },
    people: z.array(DemoPerson).parse(readJson('people')),
    boards: [DemoBoard.parse(readJson('web-app-board')), DemoBoard.parse(readJson('mobile-board'))],
  };
}

function readJson(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`./${name}.json`, import.meta.url), 'utf8'));
}
