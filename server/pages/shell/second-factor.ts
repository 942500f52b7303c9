import type { FastifyReply, FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { findAccount, isAdmin, pageOf, sessionOf } from './session.ts';

/** The path of the page where users turn on two-factor sign-in. */
export const secondFactorPath = '/admin/profile/second-factor';

/**
 * An onRequest hook for pages that need two-factor sign-in, such as the operator's panel. If the user has entered no
 * code for the session, the hook redirects to the page that turns on two-factor sign-in. Put requireSession before this
 * hook.
 */
export async function requireSecondFactor(request: FastifyRequest, reply: FastifyReply) {
  if (sessionOf(request).user.has_second_factor) return;
  return reply.redirect(pathToSecondFactor(request), 303);
}

/** Returns the path of the page that turns on two-factor sign-in. After that, the page leads back to this request. */
function pathToSecondFactor(request: FastifyRequest): string {
  const next = pageOf(request);
  const parameters = new URLSearchParams({ notice: 'required', ...(next === undefined ? {} : { next }) });
  return `${secondFactorPath}?${parameters}`;
}

/**
 * An onRequest hook for the pages of an account. An account may require two-factor sign-in of its owners and admins.
 */
export async function requireSecondFactorOfAdmins(request: FastifyRequest, reply: FastifyReply) {
  const path = pathToRequiredFactor(request, findAccount(request));
  if (path !== undefined) return reply.redirect(path, 303);
}

/**
 * Returns the path of the page that turns on two-factor sign-in, if the account requires it of the person and the person
 * has entered no code for the session.
 */
export function pathToRequiredFactor(request: FastifyRequest, account: AccountOfUser | undefined): string | undefined {
  const isRequired = account?.requires_second_factor && isAdmin(account);
  return isRequired && !sessionOf(request).user.has_second_factor ? pathToSecondFactor(request) : undefined;
}
