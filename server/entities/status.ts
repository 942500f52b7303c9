import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { StatusCategory } from '../../contract/status.ts';
import { accountKey, bigint } from './columns.ts';

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
