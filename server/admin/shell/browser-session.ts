import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../../config.ts';
import type { ServerDependencies } from '../../dependencies.ts';
import { readSession, type SignedInUser } from '../../domain/sign-in/read-session.ts';
import { hashOfSecret } from '../../domain/sign-in/secret-text.ts';
import type { SessionTerms } from '../../domain/sign-in/start-session.ts';

/** Who sent a request, by the session in its cookie. */
export interface BrowserSession {
  user: SignedInUser;
  tokenHash: Buffer;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The routes that are pages to look at, and do not only take forms. */
    pageRoutes: Set<string>;
  }
  interface FastifyRequest {
    browserSession: BrowserSession | null;
  }
}

/** Finds who is signed in, for every request of a page. */
export function readBrowserSessions(app: FastifyInstance, { database, clock, config }: ServerDependencies) {
  app.decorate('pageRoutes', new Set<string>());
  app.addHook('onRoute', ({ method, url }) => {
    if (method === 'GET') app.pageRoutes.add(url);
  });
  app.decorateRequest('browserSession', null);
  app.addHook('onRequest', async request => {
    const tokenHash = sessionHashOf(request, config);
    if (!tokenHash) return;
    const terms = { now: clock.now(), idleMinutes: config.SESSION_IDLE_MINUTES };
    const user = await readSession(database, tokenHash, terms);
    if (user) request.browserSession = { user, tokenHash };
  });
}

/** The hook of a route for people who are signed in: others sign in first, and then go on where they wanted to. */
export async function requireSession(request: FastifyRequest, reply: FastifyReply) {
  if (request.browserSession) return;
  // The address of a form may be none that can be read, and what was in it is lost all the same: the page says so.
  const next = request.server.pageRoutes.has(request.routeOptions.url ?? '') ? request.url : '/admin';
  const notice = request.method === 'GET' ? {} : { notice: 'expired' };
  return reply.redirect(`/admin/sign-in?${new URLSearchParams({ next, ...notice })}`, 303);
}

/** Who is signed in, in a route behind requireSession. */
export function sessionOf({ browserSession }: FastifyRequest): BrowserSession {
  if (!browserSession) throw new Error('The route is not behind a session');
  return browserSession;
}

/** The hash of the token in the cookie, whether a session has it or not. */
function sessionHashOf({ cookies }: FastifyRequest, config: CookieConfig): Buffer | undefined {
  const text = cookies[cookieName(config, 'session')];
  return text === undefined ? undefined : hashOfSecret(text);
}

/** How long a session of whoever signs in by a request lasts, and which one it takes the place of. */
export function sessionTerms(
  request: FastifyRequest,
  config: CookieConfig & Pick<Config, 'SESSION_MAX_HOURS'>,
  now: Date,
): SessionTerms {
  const expiresAt = new Date(now.getTime() + config.SESSION_MAX_HOURS * 3_600_000);
  return { now, expiresAt, previous: sessionHashOf(request, config) };
}

export function setSessionCookie(reply: FastifyReply, config: CookieConfig, token: string, expires: Date) {
  reply.setCookie(cookieName(config, 'session'), token, { ...cookieOptions(config), expires });
}

export function clearSessionCookie(reply: FastifyReply, config: CookieConfig) {
  reply.clearCookie(cookieName(config, 'session'), cookieOptions(config));
}

type CookieConfig = Pick<Config, 'BASE_URL'>;

/** Over HTTPS the prefix keeps other hosts of the domain, and pages without HTTPS, from setting the cookie. */
export function cookieName(config: CookieConfig, name: 'session' | 'browser'): string {
  return isSecure(config) ? `__Host-idea_board_${name}` : `idea_board_${name}`;
}

/** Lax, and not strict: whoever follows a link from a mail or a chat is signed in. No form of another site has it. */
export function cookieOptions(config: CookieConfig) {
  return { path: '/', httpOnly: true, sameSite: 'lax', secure: isSecure(config) } as const;
}

function isSecure({ BASE_URL }: CookieConfig): boolean {
  return BASE_URL.startsWith('https:');
}
