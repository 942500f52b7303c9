import type { Visit } from '../shell/visit.ts';
/** The page that opens after a sign-in without another destination. */
export const home = '/admin';

/** The path prefixes of the areas whose pages may open after a sign-in. */
const areas = [home, '/operator', '/b'];

/** The maximum length of a path. This length also limits the size of jobs and rows that store the path. */
const maxLength = 1000;

/**
 * Returns the path of the page that opens after a sign-in. The path always belongs to this server, so that a link
 * cannot lead to another host.
 */
export function safeNextPath(text: string): string {
  // No real server has this origin. If the parsed URL has another origin than this one, the path would lead to another
  // host.
  const base = 'http://pages.invalid';
  const url = text.length > maxLength ? null : URL.parse(text, base);
  if (!url || url.origin !== base || url.username !== '' || url.password !== '') return home;
  const isPage = areas.some(area => url.pathname === area || url.pathname.startsWith(`${area}/`));
  return isPage ? `${url.pathname}${url.search}` : home;
}

/** Returns the slug of the board in a path below /b, or undefined for another path. */
export function boardIn(path: string): string | undefined {
  return /^\/b\/([a-z0-9-]{1,63})(?=[/?]|$)/.exec(path)?.[1];
}

/** Returns the path of the sign-in page. After the sign-in, the browser returns to the page `next`. */
export function signInPath(next: string, parameters: Record<string, string> = {}): string {
  return `/sign-in?${new URLSearchParams({ next, ...parameters })}`;
}

export function nextOf(visit: Visit<undefined>): string {
  return safeNextPath(visit.isSent ? visit.field('next') : visit.parameter('next'));
}
