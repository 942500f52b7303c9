import { type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, defineTable, timestamp } from './columns.ts';
import type { Role } from './membership.ts';

export const Account = defineTable('Account', 'accounts', {
  id: bigint().primary().autoincrement(),
  slug: p.text(),
  name: p.text(),
  /** The name of the policy with the features of the account. */
  plan: p.text().default('community'),
  /** When the owner requested the deletion. The erasure begins after the grace period. */
  deletionScheduledAt: timestamp().nullable(),
  /** From this time, the server blocks access to the account, and the deletion cannot be cancelled. */
  erasureBeganAt: timestamp().nullable(),
  createdAt: creationTime(),
});
export type Account = InferEntity<typeof Account>;

/** The delivery of an invitation's link: by the inviter, or by mail with the outcome of the mail. */
export type InvitationDelivery = 'by_hand' | 'waiting' | 'mailed' | 'refused';

/** An invitation to become a member of an account. Accepting or revoking it deletes the row. */
export const Invitation = defineTable('Invitation', 'invitations', {
  ...accountKey,
  email: p.text(),
  /** The key of look-ups by address. Null in the same cases as for a user. */
  canonicalEmail: p.text().nullable(),
  role: p.text().$type<Role>(),
  /** Null for the operator of the server. */
  inviterId: bigint().nullable(),
  /** SHA-256 of the token in the link; null before there is a link. */
  tokenHash: p.blob().nullable(),
  delivery: p.text().$type<InvitationDelivery>(),
  createdAt: creationTime(),
  expiresAt: timestamp(),
});
