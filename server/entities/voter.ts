import { defineEntity, type InferEntity } from '@mikro-orm/core';
import { bigint } from './columns.ts';

/** Who votes: a user in an account, or a token. An erased user's voter stays, without the user. */
export const Voter = defineEntity({
  name: 'Voter',
  tableName: 'voters',
  properties: {
    id: bigint().primary().autoincrement(),
    accountId: bigint(),
    userId: bigint().nullable(),
  },
});
export type Voter = InferEntity<typeof Voter>;
