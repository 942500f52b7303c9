import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { type Administration, administrationIn } from '../../domain/administration.ts';
import { DomainError } from '../../domain/domain-error.ts';
import { hasOwnAddress } from '../../domain/identities/own-address.ts';
import { hashOfSecret } from '../../domain/sign-in/secret-text.ts';
import {
  type AccountOfUser,
  readSession,
  type SessionLookUp,
  type SessionTerms,
  type SignedInUser,
} from '../../domain/sign-in/session.ts';
import { keepLanguage } from '../../domain/users/edit-user.ts';
import { t } from '../../text/catalogue.ts';
import { fieldOf } from './form.ts';
import { languageOfBrowser, useLanguageOfProfile } from './language.ts';
import { Refusal } from './refusal.ts';
import { shownName } from './show.ts';

/** `embedded` is the session on the embedded pages of boards. This session opens no other page. */
export type SessionCookie = 'session' | 'embedded';

export interface BrowserSession {
  user: SignedInUser;
  tokenHash: Buffer;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The paths that show a page on GET. All other paths only accept forms. */
    pageRoutes: Set<string>;
    /**
     * The cookie that contains the session of this area. A session in one cookie has no effect in areas that use the
     * other cookie.
     */
    sessionCookie: SessionCookie;
  }
  interface FastifyRequest {
    browserSession: BrowserSession | null;
  }
}

/** Reads the user of a session that has not ended. Also may read what else every page of the area needs. */
export type ReadUser = (request: FastifyRequest, lookUp: SessionLookUp) => Promise<SignedInUser | undefined>;

/** Looks up the session of each request to this area of pages, if the request has a session cookie. */
export function readBrowserSessions(
  app: FastifyInstance,
  { database, clock, config }: ServerDependencies,
  cookie: SessionCookie = 'session',
  readUser: ReadUser = (_request, lookUp) => readSession(database, lookUp),
) {
  const isEmbedded = cookie === 'embedded';
  const lookUpOf = (tokenHash: Buffer): SessionLookUp => {
    return { tokenHash, now: clock.now(), idleMinutes: config.SESSION_IDLE_MINUTES, isEmbedded };
  };
  app.decorate('sessionCookie', cookie);
  app.decorate('pageRoutes', new Set<string>());
  app.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET') app.pageRoutes.add(url);
  });
  app.decorateRequest('browserSession', null);
  app.addHook('onRequest', async request => {
    const tokenHash = sessionHashOf(request, config);
    if (!tokenHash) return;
    const user = await readUser(request, lookUpOf(tokenHash));
    if (!user) return;
    request.browserSession = { user, tokenHash };
    useLanguageOfProfile(request, user.language);
    request.isPersonal = true;
  });
  // If the body was late, the session may have ended meanwhile, or the person may have lost a role. The page for pictures
  // reads its body in a preValidation hook, so this hook must come later.
  app.addHook('preHandler', async request => {
    const { browserSession, isBodyLate } = request;
    if (!browserSession || !isBodyLate) return;
    const user = await readUser(request, lookUpOf(browserSession.tokenHash));
    if (user) {
      request.browserSession = { ...browserSession, user };
      return;
    }
    request.browserSession = null;
    request.frameOfError = null;
    throw new Refusal(403, t('shell.form.expired.title'), t('shell.form.expired.explanation'));
  });
}

/**
 * An onRequest hook for pages that need a session. The hook redirects visitors to the sign-in page. After the sign-in,
 * the browser returns to the page that the visitor wanted.
 */
export async function requireSession(request: FastifyRequest, reply: FastifyReply) {
  if (request.browserSession) return;
  return redirectToSignIn(request, reply, pageOf(request) ?? '/admin');
}

/**
 * Returns the path of the page to which the browser returns if a request must wait, for example for a sign-in. A path that
 * accepts only forms has no page. Then the function returns the path of the page that contains the form, or undefined.
 */
export function pageOf(request: FastifyRequest): string | undefined {
  const isPage = request.server.pageRoutes.has(request.routeOptions.url ?? '');
  return isPage ? request.url : request.wayBack?.()?.href;
}

/** Returns the user if the session is ordinary. An ordinary session gives access to all accounts of the user. */
export function ordinaryUserOf({ browserSession }: FastifyRequest): SignedInUser | undefined {
  return browserSession?.user.only_account_id === null ? browserSession.user : undefined;
}

/**
 * An onRequest hook for pages that belong to a person and not to one account. The hook refuses a session that gives
 * access to only one account. Put requireSession before this hook.
 */
export async function requireOrdinarySession(request: FastifyRequest) {
  if (ordinaryUserOf(request)) return;
  throw new Refusal(403, t('identities.bound.title'), t('identities.bound.explanation'), {
    label: t('identities.bound.sign_in'),
    href: `/sign-in?${new URLSearchParams({ next: pageOf(request) ?? '/admin' })}`,
  });
}

/**
 * An onRequest hook for a user's own pages, such as the profile. Unlike requireOrdinarySession, this hook also accepts
 * users who can sign in only through an identity provider or an embedding website. Otherwise these users could never
 * open their own pages. Put requireSession before this hook.
 */
export async function requireOwnSession(request: FastifyRequest) {
  if (hasOwnAddress(sessionOf(request).user)) return requireOrdinarySession(request);
}

/**
 * Redirects to the sign-in page. If the request has sent a form, the entered values are lost, and the sign-in page says
 * so.
 */
export function redirectToSignIn(request: FastifyRequest, reply: FastifyReply, next: string) {
  const notice = request.method === 'GET' ? {} : { notice: 'expired' };
  return reply.redirect(`/sign-in?${new URLSearchParams({ next, ...notice })}`, 303);
}

/** Returns the session of a request. The route must have the hook requireSession. */
export function sessionOf({ browserSession }: FastifyRequest): BrowserSession {
  if (!browserSession) throw new Error('The route is not behind a session');
  return browserSession;
}

/**
 * If the user has chosen no language, stores the browser's language in the profile, so that mails are also in this
 * language.
 */
export async function keepLanguageOfBrowser(admin: Administration, request: FastifyRequest, userId: number) {
  const language = languageOfBrowser(request);
  if (language) await keepLanguage(admin, userId, language);
}

export function administer<T>(
  { database, audit, clock }: ServerDependencies,
  request: FastifyRequest,
  work: (admin: Administration) => Promise<T>,
): Promise<T> {
  const actor = { by: 'user', by_user_id: sessionOf(request).user.id } as const;
  return database.transaction(transaction => work(administrationIn(transaction, { audit, actor, now: clock.now() })));
}

type CookieConfig = Pick<Config, 'BASE_URL'>;

/** Returns the hash of the session token in the cookie. The session may already have ended. */
function sessionHashOf({ cookies, server }: FastifyRequest, config: CookieConfig): Buffer | undefined {
  const text = cookies[cookieName(config, server.sessionCookie)];
  return text === undefined ? undefined : hashOfSecret(text);
}

/**
 * Returns the expiry time of a new session, and the earlier session of this browser, which the new session replaces.
 */
export function sessionTerms(
  request: FastifyRequest,
  config: CookieConfig & Pick<Config, 'SESSION_MAX_HOURS'>,
  now: Date,
): SessionTerms {
  const expiresAt = new Date(now.getTime() + config.SESSION_MAX_HOURS * 3_600_000);
  return { now, expiresAt, previous: sessionHashOf(request, config) };
}

export function setSessionCookie(reply: FastifyReply, config: CookieConfig, token: string, expires: Date) {
  const { sessionCookie } = reply.server;
  reply.setCookie(cookieName(config, sessionCookie), token, {
    ...sessionCookieOptions(config, sessionCookie),
    expires,
  });
}

export function clearSessionCookie(reply: FastifyReply, config: CookieConfig) {
  const { sessionCookie } = reply.server;
  reply.clearCookie(cookieName(config, sessionCookie), sessionCookieOptions(config, sessionCookie));
}

/**
 * Returns a cookie name. Over HTTPS, the name has a prefix. Browsers then accept the cookie only from this host and
 * only over HTTPS.
 */
export function cookieName(config: CookieConfig, name: SessionCookie | 'browser' | 'challenge' | 'provider'): string {
  return isSecure(config) ? `__Host-idea_board_${name}` : `idea_board_${name}`;
}

/**
 * SameSite is lax instead of strict, so that users who follow a link in a mail or chat stay signed in. Browsers still
 * send forms of other sites without the cookie.
 */
export function cookieOptions(config: CookieConfig) {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(config) } as const;
}

/**
 * Over HTTPS, browsers send the cookie of embedded pages also if another site shows the pages in a frame. Browsers keep
 * a separate cookie for each embedding site (CHIPS), so the cookie does not connect the visits of several sites. Over
 * HTTP, browsers send the cookie only if the embedding page has the same site as the server, such as localhost.
 */
function sessionCookieOptions(config: CookieConfig, cookie: SessionCookie) {
  const options = cookieOptions(config);
  return cookie === 'embedded' && options.secure
    ? { ...options, sameSite: 'none' as const, partitioned: true }
    : options;
}

function isSecure({ BASE_URL }: CookieConfig): boolean {
  return BASE_URL.startsWith('https:');
}

/*
 * The account that a page shows. If a user has several accounts, the page's URL contains account=<slug>. So two tabs
 * can show two accounts, and a form always changes the account of its page.
 */

/**
 * An onRequest hook for users with several accounts, for requests whose URL names no account. The hook redirects a GET
 * request to a URL with an account, and refuses a POST request.
 */
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

/** Returns the account in the query, or the user's first account. Undefined for a user without accounts. */
export function findAccount(request: FastifyRequest): AccountOfUser | undefined {
  const { accounts } = sessionOf(request).user;
  const slug = fieldOf(request.query, 'account');
  if (slug === '') return accounts[0];
  const account = accounts.find(one => one.slug === slug);
  // An account of other people gets the same answer as an unknown account, so that nobody can find out which accounts
  // exist.
  if (!account) throw new DomainError('not_found');
  return account;
}

/**
 * Returns the account that the header of a page shows if the page belongs to no account, such as the profile. This is
 * the account in the query, if the user can open it, and otherwise the user's first account.
 */
export function accountAround(request: FastifyRequest): AccountOfUser | undefined {
  const { accounts } = sessionOf(request).user;
  const slug = fieldOf(request.query, 'account');
  return accounts.find(account => account.slug === slug) ?? accounts[0];
}

export function requireAccount(request: FastifyRequest): AccountOfUser {
  const account = findAccount(request);
  if (account) return account;
  throw new Refusal(403, t('shell.only_for.members.title'), t('shell.only_for.members.explanation'));
}

export function requireModeratedAccount(request: FastifyRequest): AccountOfUser {
  return requireRole(request, isModerator, 'moderators');
}

export function requireAdminAccount(request: FastifyRequest): AccountOfUser {
  return requireRole(request, isAdmin, 'admins');
}

export function requireOwnedAccount(request: FastifyRequest): AccountOfUser {
  return requireRole(request, isOwner, 'owners');
}

function requireRole(
  request: FastifyRequest,
  isEnough: (account: AccountOfUser) => boolean,
  whom: 'moderators' | 'admins' | 'owners',
): AccountOfUser {
  const account = requireAccount(request);
  if (isEnough(account)) return account;
  const values = { account: shownName(account.name), role: t(`shell.roles.${account.role}`) };
  throw new Refusal(403, t(`shell.only_for.${whom}.title`), t(`shell.only_for.${whom}.explanation`, values));
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

/** Whether the account's plan includes the Agent API (specification: Authentication, 8). */
export function hasAgentApi(
  { plan }: Pick<AccountOfUser, 'plan'>,
  { PLANS_WITHOUT_AGENT_API: without }: Config,
): boolean {
  return plan === 'community' || !without.includes(plan);
}

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
