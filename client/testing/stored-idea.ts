import type { Author, Comment, Note, Status, Tag, Vote } from '@idea-board/client';
import type { VoteValue } from '@idea-board/contract';
import { type TestToken, tokenName } from './tokens.ts';

interface StoredVote {
  value: VoteValue;
  voter: TestToken;
  createdAt: string;
}

export interface StoredIdea {
  id: number;
  title: string;
  body: string;
  status: Status;
  isPending: boolean;
  tags: Tag[];
  author: Author;
  mergedInto: StoredIdea | undefined;
  /** The ideas that are merged into this idea, in the order of the merges. */
  sources: StoredIdea[];
  /**
   * The direct votes on this idea, by the id of the token. If other ideas were merged into this idea, a withdrawn vote
   * stays in the map as `none`. Otherwise the vote of the same token on a merged idea would count instead.
   */
  votes: Map<number, StoredVote>;
  comments: Comment[];
  notes: Note[];
  createdAt: string;
  updatedAt: string;
}

/** Returns the vote tally of an idea, and the vote of one token. */
export function tallyOf(idea: StoredIdea, voterId: number) {
  const votes = votesOf(idea);
  const count = (value: VoteValue) => [...votes.values()].filter(one => one.value === value).length;
  const [up_count, down_count] = [count('up'), count('down')];
  const my_vote = votes.get(voterId)?.value ?? ('none' as const);
  return { score: up_count - down_count, my_vote, up_count, down_count };
}

/** Returns the votes that count for an idea, as the API lists them, with the ids of their voters. */
export function listVotesOf(idea: StoredIdea): { voterId: number; vote: Vote }[] {
  return [...votesOf(idea).values()].flatMap(({ value, voter, createdAt: created_at, carriedFrom }) => {
    if (value === 'none') return [];
    const { id, user } = voter;
    const vote = { value, voter: { kind: 'token' as const, id, name: tokenName, issuer: user } };
    return { voterId: id, vote: { ...vote, carried_from_id: carriedFrom?.id ?? null, created_at } };
  });
}

/**
 * Returns one vote for each token: the vote that counts for the idea. A vote on the idea itself has precedence over
 * votes on merged ideas. Of several votes on merged ideas, the vote on the idea that was merged first counts.
 */
export function votesOf(idea: StoredIdea): Map<number, StoredVote & { carriedFrom?: StoredIdea }> {
  const ofSources = [...idea.sources]
    .reverse()
    .flatMap(source => [...votesOf(source)].map(([voter, vote]) => [voter, { ...vote, carriedFrom: source }] as const));
  return new Map([...ofSources.filter(([, { value }]) => value !== 'none'), ...idea.votes]);
}

/** Increases the time of the last update. */
export function touch(idea: StoredIdea) {
  idea.updatedAt = timeAfter(idea.updatedAt);
}

/**
 * Returns the current time. If the current time is not later than the given time, returns the given time plus one
 * millisecond.
 */
export function timeAfter(time: string): string {
  return new Date(Math.max(Date.now(), Date.parse(time) + 1)).toISOString();
}
