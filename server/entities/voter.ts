import { defineEntity, type InferEntity } from '@mikro-orm/core';
import { accountKey, bigint } from './columns.ts';

/** Who votes: a user in an account, or a token. An erased user's voter stays, without the user. */
export const Voter = defineEntity({
  name: 'Voter',
  tableName: 'voters',
  properties: {
    ...accountKey,
    userId: bigint().nullable(),
  },
});
export type Voter = InferEntity<typeof Voter>;
