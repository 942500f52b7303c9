import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint } from './columns.ts';

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
