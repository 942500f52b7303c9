import { type EventType, eventTypes } from '../../contract/events.ts';

export interface KnownIdea {
  id: number;
  title: string;
  status: string;
  tags: Set<number>;
  mergedInto: number | null;
}

export type Vote = 'up' | 'down' | 'none';

/** All writes that the server acknowledged. At the end the database must contain exactly these writes. */
export interface Ledger {
  ideas: Map<number, KnownIdea>;
  votes: Map<string, Vote>;
  /** The bodies of the comments. No two bodies are equal. */
  comments: Set<string>;
  /** The number of events of each type that the acknowledged writes cause. */
  events: Record<EventType, number>;
}

export function newLedger(): Ledger {
  const events = Object.fromEntries(eventTypes.map(type => [type, 0])) as Ledger['events'];
  return { ideas: new Map(), votes: new Map(), comments: new Set(), events };
}

export const voteKey = (tokenId: number, ideaId: number) => `${tokenId} ${ideaId}`;
