import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, timestamp } from './columns.ts';

export type ModerationState = 'pending' | 'published' | 'rejected';

export const Idea = defineEntity({
  name: 'Idea',
  tableName: 'ideas',
  properties: {
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
    /** Computed by the database: up less down. */
    score: p.integer().generated('(up_count - down_count) stored').default(0),
    commentCount: p.integer().default(0),
    mergedIntoId: bigint().nullable(),
    /** Computed by the database: the words of the title, for the search. */
    titleWords: p
      .string()
      .columnType('tsvector')
      .generated(`(to_tsvector('idea_search', normalize(title, NFKC))) stored`)
      .lazy()
      .default(''),
    createdAt: creationTime(),
    updatedAt: creationTime(),
  },
});
export type Idea = InferEntity<typeof Idea>;

export const IdeaTag = defineEntity({
  name: 'IdeaTag',
  tableName: 'idea_tags',
  properties: {
    accountId: bigint().primary(),
    ideaId: bigint().primary(),
    tagId: bigint().primary(),
  },
});

export const Comment = defineEntity({
  name: 'Comment',
  tableName: 'comments',
  properties: {
    ...accountKey,
    ideaId: bigint(),
    authorId: bigint(),
    body: p.text(),
    createdAt: creationTime(),
  },
});

export const Follower = defineEntity({
  name: 'Follower',
  tableName: 'followers',
  properties: {
    accountId: bigint().primary(),
    ideaId: bigint().primary(),
    userId: bigint().primary(),
    createdAt: creationTime(),
  },
});

/** The history of merges; the ones in force have no unmergedAt. */
export const Merge = defineEntity({
  name: 'Merge',
  tableName: 'merges',
  properties: {
    ...accountKey,
    sourceId: bigint(),
    targetId: bigint(),
    mergedAt: creationTime(),
    unmergedAt: timestamp().nullable(),
  },
});
