import { type InferEntity, p } from '@mikro-orm/core';
import type { StatusCategory } from '../../contract/status.ts';
import type { BoardLanguage } from './board-language.ts';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';

export const Board = defineTable('Board', 'boards', {
  ...accountKey,
  slug: p.text(),
  name: p.text(),
  description: p.text().default(''),
  isFrozen: p.boolean().default(false),
  preModeration: p.boolean().default(false),
  /** Whether everyone may read the board at /b/<slug>. */
  isPublic: p.boolean().default(false),
  /** The language of the ideas on the board. The search for similar ideas depends on this language. */
  language: p.text().$type<BoardLanguage>().default('simple'),
  /**
   * The start of the submission window. The submission and voting windows include their opening time and exclude their
   * closing time. A null time means no limit.
   */
  submissionsOpenAt: timestamp().nullable(),
  submissionsCloseAt: timestamp().nullable(),
  votingOpenAt: timestamp().nullable(),
  votingCloseAt: timestamp().nullable(),
  createdAt: creationTime(),
  updatedAt: creationTime().onUpdate(() => new Date()),
});
export type Board = InferEntity<typeof Board>;

export const Status = defineTable('Status', 'statuses', {
  ...accountKey,
  boardId: bigint(),
  key: p.text(),
  category: p.text().$type<StatusCategory>(),
  label: p.text(),
  isHidden: p.boolean().default(false),
  allowVotes: p.boolean().default(true),
  allowComments: p.boolean().default(true),
  position: p.integer(),
});
export type Status = InferEntity<typeof Status>;

export const Tag = defineTable('Tag', 'tags', {
  ...accountKey,
  boardId: bigint(),
  name: p.text(),
  color: p.text(),
});
export type Tag = InferEntity<typeof Tag>;
