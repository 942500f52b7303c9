import { type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime, defineTable } from './columns.ts';

export const roles = ['owner', 'admin', 'moderator', 'member'] as const;
export type Role = (typeof roles)[number];

/** The roles that may moderate the boards of the account. */
export const moderatingRoles = ['owner', 'admin', 'moderator'] as const satisfies readonly Role[];

/** The roles that may administer an account, such as its tokens and webhooks. */
export const administeringRoles = ['owner', 'admin'] as const satisfies readonly Role[];

export const Membership = defineTable('Membership', 'memberships', {
  accountId: bigint().primary(),
  userId: bigint().primary(),
  role: p.text().$type<Role>(),
  createdAt: creationTime(),
});
export type Membership = InferEntity<typeof Membership>;

export const UserBlock = defineTable('UserBlock', 'user_blocks', {
  accountId: bigint().primary(),
  userId: bigint().primary(),
  reason: p.text().default(''),
  createdAt: creationTime(),
});
