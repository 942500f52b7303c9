import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime, timestamp } from './columns.ts';

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
    createdAt: creationTime(),
  },
});
export type User = InferEntity<typeof User>;

/** What a user proves to be themself with. */
export const SignInMethod = defineEntity({
  name: 'SignInMethod',
  tableName: 'sign_in_methods',
  properties: {
    userId: bigint().primary(),
    kind: p.text().$type<'password'>().primary(),
    /** Of a password the PHC string of argon2id. */
    credential: p.text(),
    createdAt: creationTime(),
    updatedAt: creationTime(),
  },
});

/** A person who is signed in. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    /** SHA-256 of the token in the cookie. */
    tokenHash: p.blob().primary(),
    userId: bigint(),
    createdAt: creationTime(),
    /** Kept to the minute. */
    lastSeenAt: creationTime(),
    /** The end, however much it is used. */
    expiresAt: timestamp(),
  },
});

/** A link by which a user sets a password. It is gone once one is set. */
export const PasswordLink = defineEntity({
  name: 'PasswordLink',
  tableName: 'password_links',
  properties: {
    /** SHA-256 of the token in the link. */
    tokenHash: p.blob().primary(),
    userId: bigint(),
    createdAt: creationTime(),
    expiresAt: timestamp(),
  },
});
