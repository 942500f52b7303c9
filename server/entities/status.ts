import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import type { StatusCategory } from '../../contract/status.ts';
import { bigint } from './columns.ts';

export const Status = defineEntity({
  name: 'Status',
  tableName: 'statuses',
  properties: {
    id: bigint().primary().autoincrement(),
    accountId: bigint(),
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
