import type { Account } from '../../entities/account.ts';
import type { Administration } from '../administration.ts';
import { explainViolations } from '../constraint-violation.ts';
import { checkName, checkPlan, checkSlug } from '../fields.ts';
import { slugTaken } from './create-account.ts';

export interface AccountChanges {
  name?: string;
  slug?: string;
  plan?: string;
  /** True starts the grace after which the account is deleted, and keeps one that runs; false ends it. */
  isDeletionScheduled?: boolean;
}

export async function updateAccount(admin: Administration, account: Account, changes: AccountChanges): Promise<void> {
  if (changes.name !== undefined) account.name = checkName(changes.name, 100);
  if (changes.slug !== undefined) account.slug = checkSlug(changes.slug);
  if (changes.plan !== undefined) account.plan = checkPlan(changes.plan);
  if (changes.isDeletionScheduled === true) account.deletionScheduledAt ??= admin.now;
  if (changes.isDeletionScheduled === false) account.deletionScheduledAt = null;
  await explainViolations(slugTaken(account.slug), () => admin.em.flush());
}
