import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint } from './columns.ts';

export const Tag = defineEntity({
  name: 'Tag',
  tableName: 'tags',
  properties: {
    id: bigint().primary().autoincrement(),
    accountId: bigint(),
    boardId: bigint(),
    name: p.text(),
    color: p.text(),
  },
});
export type Tag = InferEntity<typeof Tag>;
