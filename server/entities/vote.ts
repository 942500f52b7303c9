import { defineEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime } from './columns.ts';

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
    createdAt: creationTime(),
  },
});

/** Who votes: a user in an account, or a token. An erased user's voter stays, without the user. */
export const Voter = defineEntity({
  name: 'Voter',
  tableName: 'voters',
  properties: {
    ...accountKey,
    userId: bigint().nullable(),
  },
});
