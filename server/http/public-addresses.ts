import type { Config } from '../config.ts';

/**
 * The public URLs of this server for OAuth clients. The URLs come from BASE_URL and not from the Host header. Otherwise
 * a client could choose the audience of its tokens. The URLs are normalized, because clients compare them as strings.
 */

type PublicConfig = Pick<Config, 'BASE_URL'>;

/** The issuer of OAuth tokens (RFC 8414), which is the public origin of this server. */
export function issuerOf({ BASE_URL }: PublicConfig): string {
  return new URL(BASE_URL).origin;
}

/** The audience of OAuth access tokens (RFC 8707), which is the URL of the MCP endpoint. */
export function mcpUrlOf({ BASE_URL }: PublicConfig): string {
  return new URL(`${BASE_URL}/api/v1/mcp`).href;
}

/** The URL of the protected resource metadata (RFC 9728), which names the issuer. */
export function resourceMetadataUrlOf(config: PublicConfig): string {
  const { origin, pathname } = new URL(mcpUrlOf(config));
  return `${origin}${resourceMetadataPath}${pathname}`;
}

export const resourceMetadataPath = '/.well-known/oauth-protected-resource';
