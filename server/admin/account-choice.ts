import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config.ts';
import { DomainError } from '../domain/domain-error.ts';
import type { AccountOfUser } from '../domain/sign-in/read-session.ts';
import { sessionOf } from './browser-session.ts';
import { fieldOf } from './form-fields.ts';
import { Refusal } from './refusal.ts';

/*
 * Which account a page is about stands in its address, as account=<slug>, where the user has several: so two tabs may show
 * two accounts, and a form changes the account that its page showed, whatever was chosen elsewhere since.
 */

/** The hook that adds the account to the address of a page that names none, where there are several. */
export async function nameAccount(request: FastifyRequest, reply: FastifyReply) {
  const { accounts } = sessionOf(request).user;
  const [first, second] = accounts;
  if (!first || !second || fieldOf(request.query, 'account') !== '') return;
  if (request.method === 'POST') throw new DomainError('not_found');
  const [path = '', query = ''] = request.url.split('?', 2);
  const parameters = new URLSearchParams(query);
  parameters.set('account', first.slug);
  return reply.redirect(`${path}?${parameters}`, 303);
}

/** The account that the address names, else the only one; undefined for a user who has none. */
export function findAccount(request: FastifyRequest): AccountOfUser | undefined {
  const { accounts } = sessionOf(request).user;
  const slug = fieldOf(request.query, 'account');
  if (slug === '') return accounts[0];
  const account = accounts.find(one => one.slug === slug);
  // Whether there is such an account is no affair of whoever is not in it.
  if (!account) throw new DomainError('not_found');
  return account;
}

/** The account, for a page that only its owners and admins may see. */
export function requireAdminAccount(request: FastifyRequest): AccountOfUser {
  const account = findAccount(request);
  if (account && isAdmin(account)) return account;
  throw new Refusal(
    403,
    'Only for owners and admins',
    account
      ? `Your role in the account ${account.name} is ${account.role}. An owner or admin can do this, or give you another role.`
      : 'You are not a member of any account.',
  );
}

export function isAdmin(account: AccountOfUser | undefined): boolean {
  return account?.role === 'owner' || account?.role === 'admin';
}

/** Whether the plan of the account lets programs in (Authentication, 8). */
export function hasAgentApi({ plan }: AccountOfUser, { PLANS_WITHOUT_AGENT_API: without }: Config): boolean {
  return plan === 'community' || !without.includes(plan);
}

/** The address of a page of the account. */
export function pathIn(
  request: FastifyRequest,
  account: AccountOfUser | undefined,
  path: string,
  parameters: Record<string, string> = {},
): string {
  const hasSeveral = sessionOf(request).user.accounts.length > 1;
  const all = new URLSearchParams({ ...(hasSeveral && account ? { account: account.slug } : {}), ...parameters });
  return all.size > 0 ? `${path}?${all}` : path;
}
