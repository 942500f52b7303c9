import { type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime, defineTable, timestamp } from './columns.ts';

export const User = defineTable('User', 'users', {
  id: bigint().primary().autoincrement(),
  /** Null only for the placeholder. */
  email: p.text().nullable(),
  /** The key of look-ups by address. Null if an older user has the same key, or until the server fills it in. */
  canonicalEmail: p.text().nullable(),
  name: p.text(),
  avatarUrl: p.text().nullable(),
  notificationEmail: p.text().nullable(),
  isOperator: p.boolean().default(false),
  /** There is one placeholder. It becomes the author of the ideas and comments of erased users. */
  isPlaceholder: p.boolean().default(false),
  deletionRequestedAt: timestamp().nullable(),
  /** From this time, nobody can act as the user, and the deletion cannot be cancelled. */
  erasureBeganAt: timestamp().nullable(),
  createdAt: creationTime(),
});
export type User = InferEntity<typeof User>;

/** A credential of a user. */
export const SignInMethod = defineTable('SignInMethod', 'sign_in_methods', {
  userId: bigint().primary(),
  kind: p.text().$type<'password'>().primary(),
  /** For a password: the PHC string of argon2id. */
  credential: p.text(),
  createdAt: creationTime(),
  updatedAt: creationTime(),
});

/** A session of a signed-in user. */
export const Session = defineTable('Session', 'sessions', {
  /** SHA-256 of the token in the cookie. */
  tokenHash: p.blob().primary(),
  userId: bigint(),
  createdAt: creationTime(),
  /** Precise to the minute. */
  lastSeenAt: creationTime(),
  /** Activity does not extend it. */
  expiresAt: timestamp(),
});

/** A link to set a password. Setting the password deletes the row. */
export const PasswordLink = defineTable('PasswordLink', 'password_links', {
  /** SHA-256 of the token in the link. */
  tokenHash: p.blob().primary(),
  userId: bigint(),
  createdAt: creationTime(),
  expiresAt: timestamp(),
});
