import { type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

/** A deleted idea has lost its texts, and nobody can read it. Its row stays until its events have expired. */
export type ModerationState = 'pending' | 'published' | 'rejected' | 'deleted';

export const Idea = defineTable('Idea', 'ideas', {
  ...accountKey,
  boardId: bigint(),
  authorId: bigint(),
  statusId: bigint(),
  title: p.text(),
  body: p.text(),
  moderationState: p.text().$type<ModerationState>(),
  rejectionReason: p.text().nullable(),
  upCount: p.integer().default(0),
  downCount: p.integer().default(0),
  /** The score. The database computes it as up_count - down_count. */
  score: p.integer().generated('(up_count - down_count) stored').default(0),
  commentCount: p.integer().default(0),
  mergedIntoId: bigint().nullable(),
  /** The words of the title for the search. A database trigger writes them. */
  titleWords: p.string().columnType('tsvector').lazy().defaultRaw("''"),
  createdAt: creationTime(),
  updatedAt: creationTime(),
});
export type Idea = InferEntity<typeof Idea>;

/**
 * The words of a published idea, and the keys that find words with a typing error. A database trigger writes them, and
 * the search for similar ideas reads them.
 */
export const IdeaTerms = defineTable('IdeaTerms', 'idea_terms', {
  accountId: bigint().primary(),
  ideaId: bigint().primary(),
  terms: p.string().columnType('tsvector').lazy(),
});

export const IdeaTag = defineTable('IdeaTag', 'idea_tags', {
  accountId: bigint().primary(),
  ideaId: bigint().primary(),
  tagId: bigint().primary(),
});

export const Comment = defineTable('Comment', 'comments', {
  ...accountKey,
  ideaId: bigint(),
  authorId: bigint(),
  body: p.text(),
  createdAt: creationTime(),
  /** The time of the last edit. Null if nobody has edited the comment. */
  editedAt: timestamp().nullable(),
  /**
   * Whether the comment is an official reply of a moderator. The page shows the newest official reply above the
   * comments.
   */
  isOfficial: p.boolean().default(false),
});

/** A note about an idea. Only moderators can read it. */
export const IdeaNote = defineTable('IdeaNote', 'idea_notes', {
  ...accountKey,
  ideaId: bigint(),
  authorId: bigint(),
  body: p.text(),
  createdAt: creationTime(),
  /** The time of the last edit. Null if nobody has edited the note. */
  editedAt: timestamp().nullable(),
});

/** A member that the body of an idea or a comment mentions. The commentId is null for the body of the idea. */
export const Mention = defineTable('Mention', 'mentions', {
  ...accountKey,
  ideaId: bigint(),
  commentId: bigint().nullable(),
  userId: bigint(),
  /** The name as the text contains it, so that the page can highlight it. */
  name: p.text(),
  createdAt: creationTime(),
});

export const Follower = defineTable('Follower', 'followers', {
  accountId: bigint().primary(),
  ideaId: bigint().primary(),
  userId: bigint().primary(),
  createdAt: creationTime(),
});

/** A merge of two ideas. unmergedAt is null as long as the ideas are merged. */
export const Merge = defineTable('Merge', 'merges', {
  ...accountKey,
  sourceId: bigint(),
  targetId: bigint(),
  mergedAt: creationTime(),
  unmergedAt: timestamp().nullable(),
});

export const Vote = defineTable('Vote', 'votes', {
  accountId: bigint().primary(),
  ideaId: bigint().primary(),
  voterId: bigint().primary(),
  /**
   * The value of the vote: 1 for up, -1 for down, or 0. A 0 is a withdrawn vote on the target of a merge. Because of
   * this 0, the same voter's vote on the source does not count for the target.
   */
  value: p.smallint().$type<-1 | 0 | 1>(),
  /**
   * If a merge has copied this vote, the id of the merged idea, from which the vote comes. Null if the voter voted on
   * this idea directly.
   */
  carriedFromId: bigint().nullable(),
  createdAt: creationTime(),
});

/** The network of a person who voted in a browser. The row is deleted together with the vote, or after its expiry. */
export const VoteNetwork = defineTable('VoteNetwork', 'vote_networks', {
  accountId: bigint().primary(),
  ideaId: bigint().primary(),
  voterId: bigint().primary(),
  /** 16 bytes of an HMAC of the network. Equal networks have equal bytes, and the bytes do not reveal the network. */
  network: p.blob(),
  expiresAt: timestamp(),
});

/** A voter in an account: either a user or a token. If the user is erased, the voter stays without a user. */
export const Voter = defineTable('Voter', 'voters', {
  ...accountKey,
  userId: bigint().nullable(),
});
