import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

/** A link by which a user sets a password. It is gone once one is set. */
export const PasswordLink = defineEntity({
  name: 'PasswordLink',
  tableName: 'password_links',
  properties: {
    /** SHA-256 of the token in the link. */
    tokenHash: p.blob().primary(),
    userId: bigint(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    expiresAt: timestamp(),
  },
});
export type PasswordLink = InferEntity<typeof PasswordLink>;
