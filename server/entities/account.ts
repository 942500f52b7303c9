import { type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';
import type { Role } from './membership.ts';

/**
 * Who may join an account without an invitation: nobody, people who confirm an e-mail address of certain domains, or
 * everybody who confirms an e-mail address.
 */
export const joinRules = ['invited', 'domains', 'everybody'] as const;
export type JoinRule = (typeof joinRules)[number];

export const Account = defineTable('Account', 'accounts', {
  id: bigint().primary().autoincrement(),
  slug: p.text(),
  name: p.text(),
  /** The account's plan, which decides which features the account has. */
  plan: p.text().default('community'),
  joinRule: p.text().$type<JoinRule>().default('invited'),
  /** The domains for the rule `domains`, in their canonical form. Empty with any other rule. */
  joinDomains: p.array().$type<string[]>().columnType('text[]').default([]),
  /** The origins of the websites that may show the boards of the account in a frame, in the form that browsers send. */
  embeddingOrigins: p.array().$type<string[]>().columnType('text[]').default([]),
  /** Whether the owners and admins need two-factor sign-in to open the pages of the account in the admin area. */
  requiresSecondFactor: p.boolean().default(false),
  /**
   * Whether members, except owners, must sign in with an external identity of the account: through a provider, or in
   * the application that embeds the boards.
   */
  requiresProvider: p.boolean().default(false),
  /** The time of the request to delete the account. The erasure begins after the grace period. */
  deletionScheduledAt: timestamp().nullable(),
  /**
   * The time when the erasure began. From then on, the server blocks access to the account, and the deletion cannot be
   * cancelled.
   */
  erasureBeganAt: timestamp().nullable(),
  createdAt: creationTime(),
});
export type Account = InferEntity<typeof Account>;

/**
 * How the invited person gets the link. With 'by_hand', the inviter passes on the link. The other values are the states
 * of the mail with the link.
 */
export type InvitationDelivery = 'by_hand' | 'waiting' | 'mailed' | 'refused';

/**
 * An invitation to become a member of an account. When the invitation is accepted or revoked, or has expired, its row
 * is deleted.
 */
export const Invitation = defineTable('Invitation', 'invitations', {
  ...accountKey,
  email: p.text(),
  /**
   * The canonical form of the e-mail address. Queries use it to find the invitation. Null if another invitation of the
   * account has the same canonical form, or until the server fills in this column.
   */
  canonicalEmail: p.text().nullable(),
  role: p.text().$type<Role>(),
  /** The user who sent the invitation. Null for the operator of the server. */
  inviterId: bigint().nullable(),
  /** The SHA-256 of the token in the link. Null until the link exists. */
  tokenHash: p.blob().nullable(),
  delivery: p.text().$type<InvitationDelivery>(),
  createdAt: creationTime(),
  expiresAt: timestamp(),
});
