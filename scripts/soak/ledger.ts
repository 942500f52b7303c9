import type { EventType } from '../../contract/events.ts';

export interface KnownIdea {
  id: number;
  title: string;
  status: string;
  tags: Set<number>;
  mergedInto: number | null;
}

export type Vote = 'up' | 'down' | 'none';

/** All that was acknowledged: what the database must hold when the load is over, no less and no more. */
export interface Ledger {
  ideas: Map<number, KnownIdea>;
  /** By token and idea. */
  votes: Map<string, Vote>;
  /** Their bodies, which are all different. */
  comments: Set<string>;
  /** How many events of each type must have been recorded. */
  events: Record<EventType, number>;
}

export function newLedger(): Ledger {
  return {
    ideas: new Map(),
    votes: new Map(),
    comments: new Set(),
    events: {
      'idea.created': 0,
      'idea.status_changed': 0,
      'idea.merged': 0,
      'idea.unmerged': 0,
      'idea.voted': 0,
      'comment.created': 0,
    },
  };
}

export const voteKey = (tokenId: number, ideaId: number) => `${tokenId} ${ideaId}`;
