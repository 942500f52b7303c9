import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, timestamp } from './columns.ts';

/** A person who is signed in. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    /** SHA-256 of the token in the cookie. */
    tokenHash: p.blob().primary(),
    userId: bigint(),
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    /** Kept to the minute. */
    lastSeenAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    /** The end, however much it is used. */
    expiresAt: timestamp(),
  },
});
export type Session = InferEntity<typeof Session>;
