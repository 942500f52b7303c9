import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import { DomainError } from '../../domain/domain-error.ts';
import type { AccountOfUser } from '../../domain/sign-in/read-session.ts';
import { sessionOf } from './browser-session.ts';
import { fieldOf } from './form-fields.ts';
import { Refusal } from './refusal.ts';
import { shownName } from './shown-name.ts';

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

/** The account that stands around a page that is about none: the one that the address names, where the user is in it. */
export function accountAround(request: FastifyRequest): AccountOfUser | undefined {
  const { accounts } = sessionOf(request).user;
  const slug = fieldOf(request.query, 'account');
  return accounts.find(account => account.slug === slug) ?? accounts[0];
}

/** The account, for a page that every member of it may see. */
export function requireAccount(request: FastifyRequest): AccountOfUser {
  const account = findAccount(request);
  if (account) return account;
  throw new Refusal(403, 'Only for members', 'You are not a member of any account.');
}

/** The account, for a page that only those may see who moderate its boards. */
export function requireModeratedAccount(request: FastifyRequest): AccountOfUser {
  return requireRole(request, isModerator, 'moderators, admins and owners', 'An owner or admin can give you another.');
}

/** The account, for a page that only its owners and admins may see. */
export function requireAdminAccount(request: FastifyRequest): AccountOfUser {
  return requireRole(request, isAdmin, 'owners and admins', 'They can do this for you, or give you another.');
}

/** The account, for a page that only its owners may see. */
export function requireOwnedAccount(request: FastifyRequest): AccountOfUser {
  return requireRole(request, isOwner, 'owners', 'They can do this for you, or give you another.');
}

function requireRole(
  request: FastifyRequest,
  isEnough: (account: AccountOfUser) => boolean,
  whom: string,
  advice: string,
): AccountOfUser {
  const account = requireAccount(request);
  if (isEnough(account)) return account;
  throw new Refusal(
    403,
    `Only for ${whom}`,
    `Your role in the account ${shownName(account.name)} is ${account.role}. ${advice}`,
  );
}

export function isModerator(account: AccountOfUser | undefined): boolean {
  return account?.role === 'moderator' || isAdmin(account);
}

export function isAdmin(account: AccountOfUser | undefined): boolean {
  return account?.role === 'admin' || isOwner(account);
}

export function isOwner(account: AccountOfUser | undefined): boolean {
  return account?.role === 'owner';
}

/** Whether the plan of the account lets programs in (Authentication, 8). */
export function hasAgentApi(
  { plan }: Pick<AccountOfUser, 'plan'>,
  { PLANS_WITHOUT_AGENT_API: without }: Config,
): boolean {
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
