import { defineEntity, type InferEntity } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

export const Follower = defineEntity({
  name: 'Follower',
  tableName: 'followers',
  properties: {
    accountId: bigint().primary(),
    ideaId: bigint().primary(),
    userId: bigint().primary(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type Follower = InferEntity<typeof Follower>;
