import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

export const User = defineEntity({
  name: 'User',
  tableName: 'users',
  properties: {
    id: bigint().primary().autoincrement(),
    /** Null for the placeholder alone. */
    email: p.text().nullable(),
    /** The form by which the user is found; null where an older user has it, and until the server has filled it. */
    canonicalEmail: p.text().nullable(),
    name: p.text(),
    avatarUrl: p.text().nullable(),
    notificationEmail: p.text().nullable(),
    isOperator: p.boolean().default(false),
    /** The one user that takes over what erased users wrote. */
    isPlaceholder: p.boolean().default(false),
    deletionRequestedAt: timestamp().nullable(),
    /** From then on nothing is done in the user's name, and it cannot be called off any more. */
    erasureBeganAt: timestamp().nullable(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
  },
});
export type User = InferEntity<typeof User>;
