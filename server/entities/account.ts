import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

export const Account = defineEntity({
  name: 'Account',
  tableName: 'accounts',
  properties: {
    id: bigint().primary().autoincrement(),
    slug: p.text(),
    name: p.text(),
    /** Names the policy that says what the account may use. */
    plan: p.text().default('community'),
    /** When the owner asked for deletion; the account goes after the grace. */
    deletionScheduledAt: timestamp().nullable(),
    /** From then on nothing of it is served, and it cannot be kept any more. */
    erasureBeganAt: timestamp().nullable(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type Account = InferEntity<typeof Account>;
