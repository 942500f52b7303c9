import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

export const UserBlock = defineEntity({
  name: 'UserBlock',
  tableName: 'user_blocks',
  properties: {
    accountId: bigint().primary(),
    userId: bigint().primary(),
    reason: p.text().default(''),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type UserBlock = InferEntity<typeof UserBlock>;
