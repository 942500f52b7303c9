/**
 * The data that `npm start` puts into an empty database, so that the first look at the product
 * is of boards in use. Pure data: nothing here knows of a database (see load-demo.ts).
 *
 * Fieldwren is made up: scheduling, quotes and invoices for small crews that work at their
 * customers' places.
 */
import { mobileBoard } from './mobile-board.ts';
import { people } from './people.ts';
import { webAppBoard } from './web-app-board.ts';

export interface DemoPerson {
  /** How ideas and comments refer to the person; not stored. */
  key: string;
  name: string;
  email: string;
  role: 'owner' | 'admin' | 'moderator' | 'member';
}

interface DemoStatus {
  key: string;
  category: 'inbox' | 'planned' | 'active' | 'completed' | 'declined' | 'archived';
  label: string;
  isHidden?: boolean;
  allowVotes?: boolean;
  allowComments?: boolean;
}

export interface DemoIdea {
  title: string;
  body: string;
  /** A person's key. */
  author: string;
  /** A status key of the board. */
  status: string;
  /** Names of tags of the board. */
  tags: string[];
  daysAgo: number;
  /** 0..1: what share of the people vote for it. */
  popularity: number;
  /** Still waiting for a moderator. Only on a board with pre-moderation. */
  pending?: true;
  /** The title of the idea on the same board that this one was merged into. */
  mergedInto?: string;
  comments?: { by: string; body: string }[];
}

export interface DemoBoard {
  slug: string;
  name: string;
  description: string;
  preModeration: boolean;
  /** 'default': open, planned, in_progress, done, declined, archived. */
  statuses: DemoStatus[] | 'default';
  tags: { name: string; color: string }[];
  ideas: DemoIdea[];
}

export interface DemoData {
  account: { name: string; slug: string };
  people: DemoPerson[];
  boards: DemoBoard[];
}

export const demoData: DemoData = {
  account: { name: 'Fieldwren', slug: 'fieldwren' },
  people,
  boards: [webAppBoard, mobileBoard],
};
