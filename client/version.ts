/** The version in package.json. */
const version = '1.0.0';

/**
 * Returns the User-Agent of the SDK. Returns undefined in a browser, which has its own User-Agent. In a browser, the
 * server must also allow each header that a page adds (CORS).
 */
export function userAgent(): string | undefined {
  const { navigator } = globalThis as { navigator?: { userAgent?: string } };
  // Node, Deno, Bun and edge workers name themselves in their User-Agent. All browsers begin with "Mozilla/".
  return navigator?.userAgent?.startsWith('Mozilla/') ? undefined : `idea-board-client/${version}`;
}
