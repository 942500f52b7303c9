import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, timestamp } from './columns.ts';

export const Comment = defineEntity({
  name: 'Comment',
  tableName: 'comments',
  properties: {
    ...accountKey,
    ideaId: bigint(),
    authorId: bigint(),
    body: p.text(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type Comment = InferEntity<typeof Comment>;
