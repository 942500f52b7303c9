import { Account } from '../../entities/account.ts';
import { Membership } from '../../entities/membership.ts';
import type { Administration } from '../administration.ts';
import { explainViolations } from '../constraint-violation.ts';
import { checkName, checkPlan, checkSlug } from '../fields.ts';
import { userInErasure } from '../members/change-members.ts';
import { findOrCreateUser } from '../users/create-user.ts';

export interface NewAccount {
  name: string;
  slug: string;
  plan?: string;
  /** Found by the address, or created with the name. */
  owner: { email: string; name?: string };
}

/** Creates an account with its owner. */
export async function createAccount(admin: Administration, input: NewAccount): Promise<Account> {
  const slug = checkSlug(input.slug);
  const account = admin.em.create(Account, {
    name: checkName(input.name, 100),
    slug,
    plan: checkPlan(input.plan ?? 'community'),
    createdAt: admin.now,
  });
  await explainViolations(slugTaken(slug), () => admin.em.flush());
  const owner = await findOrCreateUser(admin, input.owner);
  admin.em.create(Membership, { accountId: account.id, userId: owner.id, role: 'owner', createdAt: admin.now });
  await explainViolations(userInErasure, () => admin.em.flush());
  admin.audit.record('account.created', { account_id: account.id, user_id: owner.id, plan: account.plan });
  return account;
}

export function slugTaken(slug: string) {
  return { accounts_slug_key: `Another account has the slug ${slug}` };
}
