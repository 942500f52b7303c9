import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, timestamp } from './columns.ts';

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
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    updatedAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date())
      .onUpdate(() => new Date()),
  },
});
export type Board = InferEntity<typeof Board>;
