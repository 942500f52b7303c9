import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

export const Vote = defineEntity({
  name: 'Vote',
  tableName: 'votes',
  properties: {
    accountId: bigint().primary(),
    ideaId: bigint().primary(),
    voterId: bigint().primary(),
    /** 1 up, -1 down; 0 withdrawn from an idea into which others are merged, so that theirs does not come back. */
    value: p.smallint().$type<-1 | 0 | 1>(),
    /** The merged idea from which the vote was carried here; null for a vote cast on this idea. */
    carriedFromId: bigint().nullable(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type Vote = InferEntity<typeof Vote>;
