/** This version must be equal to the version in package.json. */
const version = '1.0.0';

/**
 * Returns the User-Agent of the SDK. In a browser, returns undefined: the browser sends its own User-Agent, and a
 * server must allow each additional header of a web page (CORS).
 */
export function userAgent(): string | undefined {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  // Node, Deno, Bun and edge workers name themselves in their User-Agent. The User-Agent of every browser begins with
  // "Mozilla/".
  return navigator?.userAgent?.startsWith('Mozilla/') ? undefined : `idea-board-client/${version}`;
}
