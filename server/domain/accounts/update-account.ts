import type { Account } from '../../entities/account.ts';
import type { Administration } from '../administration.ts';
import { noteFields } from '../changed-fields.ts';
import { explainViolations } from '../constraint-violation.ts';
import { checkName, checkPlan, checkSlug } from '../fields.ts';
import { slugTaken } from './create-account.ts';

export interface AccountChanges {
  name?: string;
  slug?: string;
  plan?: string;
}

export async function updateAccount(admin: Administration, account: Account, changes: AccountChanges): Promise<void> {
  const planBefore = account.plan;
  const changedFields = noteFields(account, ['name', 'slug']);
  if (changes.name !== undefined) account.name = checkName(changes.name, 100);
  if (changes.slug !== undefined) account.slug = checkSlug(changes.slug);
  if (changes.plan !== undefined) account.plan = checkPlan(changes.plan);
  await explainViolations(slugTaken(account.slug), () => admin.em.flush());
  const changed = changedFields();
  if (changed.length > 0) admin.audit.record('account.updated', { account_id: account.id, changed });
  if (account.plan !== planBefore) {
    admin.audit.record('account.plan_changed', { account_id: account.id, from: planBefore, to: account.plan });
  }
}
