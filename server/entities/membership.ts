import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { bigint, creationTime } from './columns.ts';

export const roles = ['owner', 'admin', 'moderator', 'member'] as const;
export type Role = (typeof roles)[number];

/** With an article, for sentences. */
export const asRole: Record<Role, string> = {
  owner: 'an owner',
  admin: 'an admin',
  moderator: 'a moderator',
  member: 'a member',
};

export const Membership = defineEntity({
  name: 'Membership',
  tableName: 'memberships',
  properties: {
    accountId: bigint().primary(),
    userId: bigint().primary(),
    role: p.text().$type<Role>(),
    createdAt: creationTime(),
  },
});
export type Membership = InferEntity<typeof Membership>;

export const UserBlock = defineEntity({
  name: 'UserBlock',
  tableName: 'user_blocks',
  properties: {
    accountId: bigint().primary(),
    userId: bigint().primary(),
    reason: p.text().default(''),
    createdAt: creationTime(),
  },
});
