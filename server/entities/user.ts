import { type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime, defineTable, timestamp } from './columns.ts';

/** How often a person gets notifications by mail: each one immediately, or a summary once a day or once a week. */
export const mailFrequencies = ['immediately', 'daily', 'weekly'] as const;

export type MailFrequency = (typeof mailFrequencies)[number];

export const User = defineTable('User', 'users', {
  id: bigint().primary().autoincrement(),
  /**
   * The e-mail address for the sign-in. Null only for the placeholder user, who is the author of erased users' texts.
   */
  email: p.text().nullable(),
  /**
   * The canonical form of the e-mail address. Queries use it to find the user. The value is null in three cases: for the
   * placeholder user, for a user whose canonical form another user already has, and until the server fills in this
   * column.
   */
  canonicalEmail: p.text().nullable(),
  /**
   * The canonical form of the e-mail address that the user has confirmed through a mailed link. If it differs from
   * canonicalEmail, the present address is not confirmed.
   */
  confirmedEmail: p.text().nullable(),
  name: p.text(),
  /** The path of the user's picture. Null for a user without a picture. */
  avatarUrl: p.text().nullable(),
  notificationEmail: p.text().nullable(),
  /** Whether the user gets notifications of mentions. */
  wantsMentions: p.boolean().default(true),
  mailFrequency: p.text().$type<MailFrequency>().default('immediately'),
  /**
   * The language that the user chose for pages and mails. Null if the user has chosen none, so that pages are in the
   * browser's language.
   */
  language: p.text().nullable(),
  isOperator: p.boolean().default(false),
  /**
   * Whether this user is the placeholder user. There is only one placeholder user. It becomes the author of the ideas
   * and comments of erased users.
   */
  isPlaceholder: p.boolean().default(false),
  deletionRequestedAt: timestamp().nullable(),
  /**
   * The time when the erasure began. From then on, nobody can act as the user, and the deletion cannot be cancelled.
   */
  erasureBeganAt: timestamp().nullable(),
  createdAt: creationTime(),
});
export type User = InferEntity<typeof User>;

/** The picture of a user, as a small WebP file. */
export const Picture = defineTable('Picture', 'pictures', {
  userId: bigint().primary().autoincrement(false),
  /** The random text in the picture's path. Each picture has a different text. */
  key: p.text(),
  content: p.blob(),
});

export const SignInMethod = defineTable('SignInMethod', 'sign_in_methods', {
  userId: bigint().primary(),
  kind: p.text().$type<'password'>().primary(),
  /** The credential. For a password, this is a PHC string of argon2id. */
  credential: p.text(),
  createdAt: creationTime(),
  updatedAt: creationTime(),
});

/**
 * The external identity (a person at a provider) of a session, or of a sign-in that waits for a code. Such a session
 * reaches only the account of the identity, and ends when the identity is removed. Both columns are null for an
 * ordinary session.
 */
const boundTo = { accountId: bigint().nullable(), identityId: bigint().nullable() };

export const Session = defineTable('Session', 'sessions', {
  /** The SHA-256 of the token in the cookie. */
  tokenHash: p.blob().primary(),
  userId: bigint(),
  createdAt: creationTime(),
  /** The time when the session was last used, updated at most once a minute. */
  lastSeenAt: creationTime(),
  /** The time when the session ends, even if the user is active. */
  expiresAt: timestamp(),
  ...boundTo,
  /**
   * The embedding secret that signed the person's token. A session with an embedding secret opens only the embedded
   * pages of boards. Null for every other session.
   */
  embeddingSecretId: bigint().nullable(),
  /** Whether the user entered a code for this session. Always false for a user without a second factor. */
  hasSecondFactor: p.boolean().default(false),
});

/**
 * A mailed link that signs a user in, or that signs a new person up. The row is deleted when the link has been used or
 * has expired.
 */
export const SignInLink = defineTable('SignInLink', 'sign_in_links', {
  /** The SHA-256 of the token in the link. */
  tokenHash: p.blob().primary(),
  /** The user to sign in. Null for a link that signs a new person up. */
  userId: bigint().nullable(),
  /** The account that a new person joins. Null for a link that signs a user in. */
  accountId: bigint().nullable(),
  /** The e-mail address that got the link. */
  email: p.text(),
  canonicalEmail: p.text(),
  /** The path of the page that opens after the sign-in. */
  next: p.text(),
  createdAt: creationTime(),
  expiresAt: timestamp(),
});

/**
 * A link that lets a user set a password. The row is deleted when the link has expired. It is also deleted when the
 * user sets a password or gets another e-mail address.
 */
export const PasswordLink = defineTable('PasswordLink', 'password_links', {
  /** The SHA-256 of the token in the link. */
  tokenHash: p.blob().primary(),
  userId: bigint(),
  createdAt: creationTime(),
  expiresAt: timestamp(),
});

/** The secret of a user's authenticator app. A user with this row needs a code to sign in. */
export const SecondFactor = defineTable('SecondFactor', 'second_factors', {
  userId: bigint().primary().autoincrement(false),
  /** The shared secret, encrypted with the application key. */
  secret: p.blob(),
  /** The time step of the last accepted code. The server accepts only codes of later steps. */
  lastStep: bigint(),
  createdAt: creationTime(),
});

/** An unused recovery code. The row is deleted when somebody uses the code. */
export const RecoveryCode = defineTable('RecoveryCode', 'recovery_codes', {
  userId: bigint().primary(),
  /** The HMAC-SHA-256 of the code, with a key from the application key. */
  codeHash: p.blob().primary(),
});

/**
 * A sign-in that waits for the code of a second factor. The row is deleted when the session starts, or after the time
 * limit for entering the code has passed.
 */
export const SignInChallenge = defineTable('SignInChallenge', 'sign_in_challenges', {
  /** The SHA-256 of the token in the cookie. */
  tokenHash: p.blob().primary(),
  userId: bigint(),
  /** The time when the user set the password that was entered. Null if the sign-in used no password. */
  passwordSetAt: timestamp().nullable(),
  ...boundTo,
  createdAt: creationTime(),
  expiresAt: timestamp(),
});
