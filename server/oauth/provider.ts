import { generateKeyPairSync, timingSafeEqual } from 'node:crypto';
import type { Context, Client as OauthClient, Provider as OauthProvider, Token } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { deriveKey } from '../domain/signer.ts';
import { issuerOf, mcpUrlOf } from '../http/public-addresses.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { buildOutgoingRequests, type OutgoingRequests } from '../outgoing/outgoing-request.ts';
import { buildAdapter, hashOfClientSecret } from './adapter.ts';
import { asksForAnother, connectProvider, noteRefusal, type OauthErrorBody, redemptionIn } from './call-provider.ts';
import { chargeFetches } from './client-limits.ts';
import { fixedMetadata, tidyMetadata } from './client-metadata.ts';
import { grantEnder } from './end-grant.ts';
import { lifetimes } from './lifetimes.ts';
import { consentPathOf, grantTypes, routes, scopes, toolScope } from './metadata.ts';

/** The minimum time to cache a client's metadata document, in seconds. Each hourly token refresh needs the document. */
const documentSeconds = 60 * 60;

export interface BuiltProvider {
  provider: OauthProvider;
  close(): void;
}

/**
 * Builds the OAuth provider from the library oidc-provider. It issues authorization codes with PKCE, opaque access
 * tokens for the MCP endpoint only, and rotating refresh tokens. The first OAuth request loads the library. Loading
 * takes a fifth of a second, and most servers have no OAuth clients.
 */
export async function buildProvider(server: ServerDependencies): Promise<BuiltProvider> {
  const { errors, interactionPolicy, Provider } = await import('oidc-provider');
  const { appKey, clock, config, database } = server;
  const issuer = issuerOf(config);
  const mcpUrl = mcpUrlOf(config);
  const isSecure = issuer.startsWith('https:');
  const cookieOf = (name: string) => `${isSecure ? '__Secure-' : ''}idea_board_oauth_${name}`;
  const guard = buildAddressGuard(config.WEBHOOK_ALLOWED_CIDRS);
  const outgoing = buildOutgoingRequests({ guard });
  const endGrant = grantEnder(server);
  const { Check, Prompt } = interactionPolicy;

  const provider: OauthProvider = new Provider(issuer, {
    adapter: buildAdapter({
      database,
      clock,
      endGrant: grantId => endGrant(Provider.ctx, grantId),
      redemptionOf: () => redemptionIn(Provider.ctx),
      asksForAnother: resource => asksForAnother(Provider.ctx, resource),
      refusals: {
        grantEnded: () => new errors.InvalidGrant('the grant has ended'),
        alreadyResumed: () => new errors.SessionNotFound('authorization request was answered already'),
      },
    }),
    routes,
    scopes,
    responseTypes: ['code'],
    clientAuthMethods: ['none', 'client_secret_basic', 'client_secret_post'],
    clientDefaults: {
      ...fixedMetadata,
      // A native client may use any port in a loopback redirect URI. For other redirect URIs the application type makes
      // no difference.
      application_type: 'native',
      grant_types: grantTypes,
      response_types: ['code'],
      token_endpoint_auth_method: 'client_secret_basic',
    },
    extraClientMetadata: {
      properties: ['software_id', 'software_version'],
      validator(_ctx: unknown, name: string, _value: unknown, metadata: object) {
        const problem = name === 'software_id' ? tidyMetadata(metadata as Record<string, unknown>) : undefined;
        if (problem) throw new errors.InvalidClientMetadata(problem);
      },
    },
    pkce: { required: () => true },
    clockTolerance: 0,
    cookies: {
      names: { session: cookieOf('session'), interaction: cookieOf('interaction'), resume: cookieOf('resume') },
      keys: [deriveKey(appKey, 'oauth cookies').export().toString('base64url')],
      long: { httpOnly: true, sameSite: 'lax', secure: isSecure },
      short: { httpOnly: true, sameSite: 'lax', secure: isSecure },
    },
    ttl: lifetimes,
    // oidc-provider requires a signing key, but never signs with it, because no client gets an ID token.
    jwks: { keys: [generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' })] },
    features: {
      clientIdMetadataDocument: {
        enabled: true,
        ack: 'draft-02',
        allowFetch: chargeFetches(server),
        cacheDuration: { min: documentSeconds, max: 24 * documentSeconds },
      },
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      registration: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: async () => mcpUrl,
        useGrantedResource: async () => true,
        async getResourceServerInfo(_ctx: unknown, resource: string) {
          if (resource !== mcpUrl) throw new errors.InvalidTarget(`the resource of this server is ${mcpUrl}`);
          return {
            scope: toolScope,
            audience: mcpUrl,
            accessTokenTTL: lifetimes.AccessToken,
            accessTokenFormat: 'opaque',
          };
        },
      },
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx: unknown, client: { clientId: string }, token: { clientId: string }) =>
          token.clientId === client.clientId,
      },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
    },
    interactions: {
      url: async (_ctx: unknown, { uid }: { uid: string }) => consentPathOf(uid),
      // Each authorization request needs its own answer from the consent page, even after an earlier consent.
      policy: [
        new Prompt(
          { name: 'login', requestable: true },
          new Check('unanswered', 'nobody has signed in', ({ oidc }) => !oidc.result?.login),
        ),
        new Prompt(
          { name: 'consent', requestable: true },
          new Check('unanswered', 'nobody has consented', ({ oidc }) => !oidc.result?.consent),
        ),
      ],
    },
    async loadExistingGrant({ oidc }: Context) {
      return oidc.result?.consent && provider.Grant.find(oidc.result.consent.grantId);
    },
    // Does not check whether the user exists, because each lookup of a token checks the user.
    findAccount: async (_ctx: unknown, accountId: string) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    expiresWithSession: async () => false,
    issueRefreshToken: async (_ctx: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
      client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // Makes the revocation of a token end its grant. A grant without tokens would be useless, but would still appear in
    // the account's list of tokens.
    revokeGrantPolicy: () => true,
    // Allows all origins in oidc-provider, because the setting CORS_ORIGINS already decides which origins may read an
    // answer.
    clientBasedCORS: () => true,
    fetch: fetchWith(outgoing),
    renderError: async (ctx: Context, body: OauthErrorBody) => noteRefusal(ctx.req, body),
  });
  // oidc-provider may trust the X-Forwarded headers, because pinToIssuer has replaced them.
  provider.proxy = true;
  provider.silent = true;
  connectProvider(provider, { server, issuer, endGrant, sessionCookie: cookieOf('session') });
  compareHashedSecrets(provider);
  prefixTokens(provider);
  return { provider, close: outgoing.close };
}

/**
 * Builds the function that fetches the metadata documents of clients. The function follows no redirects. It connects to
 * a private IP address only if WEBHOOK_ALLOWED_CIDRS allows the address.
 */
function fetchWith(outgoing: OutgoingRequests) {
  return async (url: string, { signal }: { signal?: AbortSignal }): Promise<Response> => {
    const { status, headers, body } = await outgoing.get(url, { headers: { accept: 'application/json' }, signal });
    // Returns the HTTP status 502 for every failure, because oidc-provider treats all failures alike. Passing on the
    // received status is not safe: with some statuses, a Response object must not have a body.
    if (status !== 200) return new Response(null, { status: 502 });
    const cacheHeaders = ['cache-control', 'expires'].flatMap(name => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as [string, string]] : [];
    });
    return new Response(new Uint8Array(body), { headers: cacheHeaders });
  };
}

/** Makes oidc-provider compare the hash of a given client secret with the stored hash. */
function compareHashedSecrets({ Client }: OauthProvider): void {
  Client.prototype.compareClientSecret = function compare(this: OauthClient, given: string) {
    const [expected, actual] = [Buffer.from(this.clientSecret ?? ''), Buffer.from(hashOfClientSecret(given))];
    return expected.length === actual.length && timingSafeEqual(expected, actual);
  };
}

/**
 * Adds a prefix to each token. The prefix shows the kind of the token. Secret scanners and the log redactor recognize
 * tokens by their prefixes.
 */
function prefixTokens(provider: OauthProvider): void {
  const prefixes = {
    AccessToken: 'iba_',
    AuthorizationCode: 'ibc_',
    RefreshToken: 'ibr_',
    RegistrationAccessToken: 'ibg_',
  } as const;
  for (const [model, prefix] of Object.entries(prefixes)) {
    const { prototype } = provider[model as keyof typeof prefixes];
    const { generateTokenId } = prototype;
    prototype.generateTokenId = function generate(this: Token) {
      return prefix + generateTokenId.call(this);
    };
  }
}
