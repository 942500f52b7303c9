import { type EventType, eventTypes } from '../../contract/events.ts';

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
  const events = Object.fromEntries(eventTypes.map(type => [type, 0])) as Ledger['events'];
  return { ideas: new Map(), votes: new Map(), comments: new Set(), events };
}

export const voteKey = (tokenId: number, ideaId: number) => `${tokenId} ${ideaId}`;
