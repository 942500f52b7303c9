import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, creationTime, timestamp } from './columns.ts';
import type { Role } from './membership.ts';

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
    createdAt: creationTime(),
  },
});
export type Account = InferEntity<typeof Account>;

/** How a link comes to whoever is invited: handed over by the inviter, or by mail, and what became of the mail. */
export type InvitationDelivery = 'by_hand' | 'waiting' | 'mailed' | 'refused';

/** An invitation to become a member of an account. It is gone once it is accepted or revoked. */
export const Invitation = defineEntity({
  name: 'Invitation',
  tableName: 'invitations',
  properties: {
    ...accountKey,
    email: p.text(),
    /** The form by which the invitation is found; null as that of a user. */
    canonicalEmail: p.text().nullable(),
    role: p.text().$type<Role>(),
    /** Null for the operator of the server. */
    inviterId: bigint().nullable(),
    /** SHA-256 of the token in the link; null until a link was made. */
    tokenHash: p.blob().nullable(),
    delivery: p.text().$type<InvitationDelivery>(),
    createdAt: creationTime(),
    expiresAt: timestamp(),
  },
});
