import type { Config } from '../config.ts';

/*
 * The addresses by which clients of OAuth know this server. They come from BASE_URL and never from a request: whoever sends
 * a request chooses its Host, and would choose for whom tokens are. Each is written as a URL parser writes it, since
 * clients compare them letter by letter.
 */

type PublicConfig = Pick<Config, 'BASE_URL'>;

/** Who issues tokens (RFC 8414): the public origin. */
export function issuerOf({ BASE_URL }: PublicConfig): string {
  return new URL(BASE_URL).origin;
}

/** What access tokens are for (RFC 8707): the endpoint of the tools. */
export function mcpUrlOf({ BASE_URL }: PublicConfig): string {
  return new URL(`${BASE_URL}/api/v1/mcp`).href;
}

/** Where it is said who issues tokens for the tools (RFC 9728): the path is put behind the well-known one. */
export function resourceMetadataUrlOf(config: PublicConfig): string {
  const { origin, pathname } = new URL(mcpUrlOf(config));
  return `${origin}${resourceMetadataPath}${pathname}`;
}

export const resourceMetadataPath = '/.well-known/oauth-protected-resource';
