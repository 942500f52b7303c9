import { type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime, defineTable } from './columns.ts';

export const roles = ['owner', 'admin', 'moderator', 'member'] as const;
export type Role = (typeof roles)[number];

/** The names of the roles with an article, for use in sentences. */
export const asRole: Record<Role, string> = {
  owner: 'an owner',
  admin: 'an admin',
  moderator: 'a moderator',
  member: 'a member',
};

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
