import type { Config } from '../config.ts';
import { issuerOf, mcpUrlOf } from '../http/public-addresses.ts';

/** The routes of oidc-provider that serve-oauth.ts serves. Clients cannot reach any other routes of oidc-provider. */
export const routes = {
  authorization: '/oauth/authorize',
  token: '/oauth/token',
  registration: '/oauth/register',
  revocation: '/oauth/revoke',
} as const;

/**
 * Returns the path of a consent page. The cookie that identifies the browser has this path, so the browser sends the
 * cookie nowhere else.
 */
export function consentPathOf(uid: string): string {
  return `/admin/connect/${uid}`;
}

/** The OAuth scope for the MCP endpoint. The user who consents chooses a grant (such as `read`) for each board. */
export const toolScope = 'mcp';

export const scopes = [toolScope, 'offline_access'];
export const grantTypes = ['authorization_code', 'refresh_token'];

/** Returns the metadata of this server as an OAuth authorization server (RFC 8414). */
export function authorizationServerMetadata(config: Config) {
  const issuer = issuerOf(config);
  const authMethods = ['none', 'client_secret_basic', 'client_secret_post'];
  return {
    issuer,
    authorization_endpoint: issuer + routes.authorization,
    token_endpoint: issuer + routes.token,
    registration_endpoint: issuer + routes.registration,
    revocation_endpoint: issuer + routes.revocation,
    scopes_supported: scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: grantTypes,
    token_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_methods_supported: authMethods,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}

/** Returns the metadata of the MCP endpoint as an OAuth protected resource (RFC 9728). */
export function protectedResourceMetadata(config: Config) {
  return {
    resource: mcpUrlOf(config),
    authorization_servers: [issuerOf(config)],
    scopes_supported: [toolScope],
    bearer_methods_supported: ['header'],
    resource_name: 'Idea-Board',
  };
}
