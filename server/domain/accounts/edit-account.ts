import { Account } from '../../entities/account.ts';
import { Membership } from '../../entities/membership.ts';
import { t } from '../../text/catalogue.ts';
import { type Administration, explainViolations, noteFields } from '../administration.ts';
import { checkEmbeddingOrigins } from '../embedding/origins.ts';
import { checkName, checkPlan, checkSlug } from '../fields.ts';
import { userInErasure } from '../members/change-members.ts';
import { findOrCreateUser } from '../users/edit-user.ts';
import { checkJoinSetting } from './join-rule.ts';

interface NewAccount {
  name: string;
  slug: string;
  plan?: string;
  /** The first owner. createAccount finds the user by e-mail address, or creates a user with this name. */
  owner: { email: string; name?: string };
}

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
  await explainViolations(userInErasure(), () => admin.em.flush());
  admin.audit.record('account.created', { account_id: account.id, user_id: owner.id, plan: account.plan });
  return account;
}

function slugTaken(slug: string) {
  return { accounts_slug_key: t('refusals.account.slug_taken', { slug }) };
}

interface AccountChanges {
  name?: string;
  slug?: string;
  plan?: string;
  /** Who may join the account without an invitation: a value from the constant `joinRules`. */
  joinRule?: string;
  /** The domains for the rule `domains`. If undefined, an account that already has this rule keeps its domains. */
  joinDomains?: string[];
  /** Whether owners and admins need two-factor sign-in. */
  requiresSecondFactor?: boolean;
  /**
   * Whether members, except owners, must sign in through a sign-in provider of the account, or through the application
   * that embeds its boards.
   */
  requiresProvider?: boolean;
  /** The origins of the pages that may show the boards of the account in a frame. */
  embeddingOrigins?: string[];
}

export async function updateAccount(admin: Administration, account: Account, changes: AccountChanges): Promise<void> {
  const planBefore = account.plan;
  const changedFields = noteFields(account, [
    'name',
    'slug',
    'joinRule',
    'joinDomains',
    'requiresSecondFactor',
    'requiresProvider',
    'embeddingOrigins',
  ]);
  if (changes.name !== undefined) account.name = checkName(changes.name, 100);
  if (changes.slug !== undefined) account.slug = checkSlug(changes.slug);
  if (changes.plan !== undefined) account.plan = checkPlan(changes.plan);
  const { joinRule = account.joinRule, joinDomains = joinRule === 'domains' ? account.joinDomains : [] } = changes;
  Object.assign(account, checkJoinSetting(joinRule, joinDomains));
  if (changes.requiresSecondFactor !== undefined) account.requiresSecondFactor = changes.requiresSecondFactor;
  if (changes.requiresProvider !== undefined) account.requiresProvider = changes.requiresProvider;
  if (changes.embeddingOrigins !== undefined) {
    account.embeddingOrigins = checkEmbeddingOrigins(changes.embeddingOrigins);
  }
  await explainViolations(slugTaken(account.slug), () => admin.em.flush());
  const changed = changedFields();
  if (changed.length > 0) admin.audit.record('account.updated', { account_id: account.id, changed });
  if (account.plan !== planBefore) {
    admin.audit.record('account.plan_changed', { account_id: account.id, from: planBefore, to: account.plan });
  }
}
