import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { accountKey, bigint, timestamp } from './columns.ts';
import type { Role } from './membership.ts';

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
    createdAt: timestamp()
      .defaultRaw('now()')
      .onCreate(() => new Date()),
    expiresAt: timestamp(),
  },
});
export type Invitation = InferEntity<typeof Invitation>;
