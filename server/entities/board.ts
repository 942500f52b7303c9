import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { StatusCategory } from '../../contract/status.ts';
import { accountKey, bigint, creationTime, timestamp } from './columns.ts';

export const Board = defineEntity({
  name: 'Board',
  tableName: 'boards',
  properties: {
    ...accountKey,
    slug: p.text(),
    name: p.text(),
    description: p.text().default(''),
    isFrozen: p.boolean().default(false),
    preModeration: p.boolean().default(false),
    /** Everybody may read it at /b/<slug>. */
    isPublic: p.boolean().default(false),
    /** A window is open from its opening, included, to its closing, excluded; null is no bound. */
    submissionsOpenAt: timestamp().nullable(),
    submissionsCloseAt: timestamp().nullable(),
    votingOpenAt: timestamp().nullable(),
    votingCloseAt: timestamp().nullable(),
    createdAt: creationTime(),
    updatedAt: creationTime().onUpdate(() => new Date()),
  },
});
export type Board = InferEntity<typeof Board>;

export const Status = defineEntity({
  name: 'Status',
  tableName: 'statuses',
  properties: {
    ...accountKey,
    boardId: bigint(),
    key: p.text(),
    category: p.text().$type<StatusCategory>(),
    label: p.text(),
    isHidden: p.boolean().default(false),
    allowVotes: p.boolean().default(true),
    allowComments: p.boolean().default(true),
    position: p.integer(),
  },
});
export type Status = InferEntity<typeof Status>;

export const Tag = defineEntity({
  name: 'Tag',
  tableName: 'tags',
  properties: {
    ...accountKey,
    boardId: bigint(),
    name: p.text(),
    color: p.text(),
  },
});
export type Tag = InferEntity<typeof Tag>;
