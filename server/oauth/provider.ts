import { generateKeyPairSync, hkdfSync } from 'node:crypto';
import type { Context, Provider as OauthProvider } from 'oidc-provider';
import type { ServerDependencies } from '../dependencies.ts';
import { issuerOf, mcpUrlOf } from '../http/public-addresses.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { buildOutgoingRequests, type OutgoingRequests } from '../outgoing/outgoing-request.ts';
import { buildAdapter } from './adapter.ts';
import { chargeFetches } from './client-limits.ts';
import { fixedMetadata, tidyMetadata } from './client-metadata.ts';
import { grantEnder } from './end-grant.ts';
import { asksForAnother, connectProvider, noteRefusal, type OauthErrorBody, redemptionIn } from './exchange.ts';
import {
  accessTokenSeconds,
  codeSeconds,
  grantSeconds,
  interactionSeconds,
  refreshTokenSeconds,
  unusedClientSeconds,
} from './lifetimes.ts';
import { consentPathOf, grantTypes, routes, scopes, toolScope } from './metadata.ts';
import { compareHashedSecrets, prefixTokens } from './secrets.ts';

/** For how long a client's document is not fetched again at least: a client asks for a token every hour. */
const documentSeconds = 60 * 60;

export interface BuiltProvider {
  provider: OauthProvider;
  close(): void;
}

/**
 * The OAuth provider: codes with PKCE, opaque access tokens for the tools alone, rotating refresh tokens. It is
 * loaded by the first request that needs it: a server would start a fifth of a second later for it, and most have no such
 * clients.
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
      // Programs on people's machines, whose loopback ports vary: others have addresses that do not.
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
      keys: [Buffer.from(hkdfSync('sha256', appKey, '', 'idea-board oauth cookies 1', 32)).toString('base64url')],
      long: { httpOnly: true, sameSite: 'lax', secure: isSecure },
      short: { httpOnly: true, sameSite: 'lax', secure: isSecure },
    },
    ttl: {
      AccessToken: accessTokenSeconds,
      AuthorizationCode: codeSeconds,
      Grant: grantSeconds,
      IdToken: accessTokenSeconds,
      Interaction: interactionSeconds,
      RefreshToken: refreshTokenSeconds,
      RegistrationAccessToken: unusedClientSeconds,
      Session: interactionSeconds,
    },
    // A key has to be there, and nothing is ever signed with it: no client is given an ID token. So each process has its own.
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
            accessTokenTTL: accessTokenSeconds,
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
      // People are asked each time, whoever signed in before and whatever they agreed to: only the answer to this very
      // request goes on without.
      policy: [
        new Prompt(
          { name: 'login', requestable: true },
          new Check('unanswered', 'somebody has to sign in', ({ oidc }) => !oidc.result?.login),
        ),
        new Prompt(
          { name: 'consent', requestable: true },
          new Check('unanswered', 'somebody has to consent', ({ oidc }) => !oidc.result?.consent),
        ),
      ],
    },
    async loadExistingGrant({ oidc }: Context) {
      return oidc.result?.consent && provider.Grant.find(oidc.result.consent.grantId);
    },
    // Whether the user is there is looked up with every record under a grant, as for every other token.
    findAccount: async (_ctx: unknown, accountId: string) => ({ accountId, claims: async () => ({ sub: accountId }) }),
    expiresWithSession: async () => false,
    issueRefreshToken: async (_ctx: unknown, client: { grantTypeAllowed(type: string): boolean }) =>
      client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // Without its tokens a grant is of no use to anybody, and in the list of tokens it would look as if it were.
    revokeGrantPolicy: () => true,
    // Which origins may read an answer is decided for the whole server, by CORS_ORIGINS.
    clientBasedCORS: () => true,
    fetch: fetchWith(outgoing),
    renderError: async (ctx: Context, body: OauthErrorBody) => noteRefusal(ctx.req, body),
  });
  // What is believed of a proxy is settled before: here it is what the exchange sets.
  provider.proxy = true;
  provider.silent = true;
  connectProvider(provider, { server, issuer, endGrant, sessionCookie: cookieOf('session') });
  compareHashedSecrets(provider);
  prefixTokens(provider);
  return { provider, close: outgoing.close };
}

/**
 * What the provider fetches with: the document of a client that is known by its URL. It goes the way of webhooks, which
 * reaches no address inside the network and follows no redirect.
 */
function fetchWith(outgoing: OutgoingRequests) {
  return async (url: string, { signal }: { signal?: AbortSignal }): Promise<Response> => {
    const { status, headers, body } = await outgoing.get(url, { headers: { accept: 'application/json' }, signal });
    // Whatever is not a document is none in the same way, and some statuses cannot have a body.
    if (status !== 200) return new Response(null, { status: 502 });
    const told = ['cache-control', 'expires'].flatMap(name => {
      const value = headers[name];
      return typeof value === 'string' ? [[name, value] as [string, string]] : [];
    });
    return new Response(new Uint8Array(body), { headers: told });
  };
}
