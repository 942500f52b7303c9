import { hash } from 'node:crypto';
import type { Configuration, CustomFetchOptions } from 'openid-client';
import type { Config } from '../config.ts';
import { isLoopback } from '../domain/identities/providers.ts';
import { buildAddressGuard } from '../outgoing/address-guard.ts';
import { buildOutgoingRequests, OutgoingRequestError, type OutgoingRequests } from '../outgoing/outgoing-request.ts';
import { type AssertedPerson, personIn } from './asserted-person.ts';
import { ProviderError } from './provider-error.ts';

export interface ProviderAccess {
  issuer: string;
  clientId: string;
  clientSecret: string;
}

/** The secrets of one sign-in. Only the browser that began the sign-in stores these secrets. */
export interface SignInSecrets {
  state: string;
  nonce: string;
  /** The code verifier of PKCE. */
  verifier: string;
}

/** Signs people in with OpenID Connect providers. Uses the authorization code flow with PKCE, a state and a nonce. */
export interface OpenidClient {
  /**
   * Requests the metadata of a provider, even if it is in the cache. Throws a ProviderError if the provider cannot be
   * used.
   */
  check(access: ProviderAccess): Promise<void>;
  /** Returns the URL of the provider's page where the person signs in. */
  begin(access: ProviderAccess, redirectUri: string, secrets: SignInSecrets): Promise<string>;
  /**
   * Redeems the authorization code in the URL of the callback, and returns the signed-in person. Throws a ProviderError
   * for every failure.
   */
  finish(access: ProviderAccess, callbackUrl: URL, secrets: SignInSecrets): Promise<AssertedPerson>;
  close(): void;
}

/** The time limit of each request to a provider, in milliseconds. It is short, because a person waits for the page. */
const timeoutMs = 5_000;
/** How long the server caches the metadata and the keys of a provider. */
const keptMs = 10 * 60_000;
/**
 * How long the server remembers that a request to a provider failed. During this time, the server sends no request to
 * this provider, so visitors do not wait for a provider that is down.
 */
const keptFailureMs = 10_000;
/** The maximum number of providers in the cache. */
const maxKept = 200;

/**
 * Builds the client. Admins enter the URLs of providers, so the client sends requests only to public IP addresses and
 * to the networks in WEBHOOK_ALLOWED_CIDRS. The first sign-in with a provider loads the OpenID library.
 */
export function buildOpenidClient({ WEBHOOK_ALLOWED_CIDRS }: Pick<Config, 'WEBHOOK_ALLOWED_CIDRS'>): OpenidClient {
  const outgoing = buildOutgoingRequests({ guard: buildAddressGuard(WEBHOOK_ALLOWED_CIDRS), timeoutMs });
  const kept = new Map<string, { discovered: Promise<Configuration>; until: number }>();

  function discover(access: ProviderAccess): Promise<Configuration> {
    const key = hash('sha256', JSON.stringify([access.issuer, access.clientId, access.clientSecret]));
    const discovered = readMetadata(access, outgoing);
    const entry = { discovered, until: Date.now() + keptMs };
    kept.delete(key);
    kept.set(key, entry);
    discovered.catch(() => {
      entry.until = Date.now() + keptFailureMs;
    });
    const [oldest] = kept.keys();
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest);
    return discovered;
  }

  function configurationOf(access: ProviderAccess): Promise<Configuration> {
    const key = hash('sha256', JSON.stringify([access.issuer, access.clientId, access.clientSecret]));
    const entry = kept.get(key);
    return entry && entry.until > Date.now() ? entry.discovered : discover(access);
  }

  return {
    check: access =>
      explained(async () => {
        await discover(access);
      }),

    begin: (access, redirectUri, { state, nonce, verifier }) =>
      explained(async () => {
        const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client');
        const url = buildAuthorizationUrl(await configurationOf(access), {
          redirect_uri: redirectUri,
          scope: 'openid profile email',
          state,
          nonce,
          code_challenge: await calculatePKCECodeChallenge(verifier),
          code_challenge_method: 'S256',
        });
        return url.href;
      }),

    finish: (access, callbackUrl, { state, nonce, verifier }) =>
      explained(async () => {
        const { authorizationCodeGrant, fetchUserInfo } = await import('openid-client');
        const configuration = await configurationOf(access);
        const tokens = await authorizationCodeGrant(configuration, callbackUrl, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
        });
        const claims = tokens.claims();
        if (!claims) throw new ProviderError('invalid', 'The answer has no ID token');
        // Many providers send the e-mail address only at their userinfo endpoint.
        const needsMore = claims.email === undefined && configuration.serverMetadata().userinfo_endpoint !== undefined;
        const more = needsMore ? await fetchUserInfo(configuration, tokens.access_token, claims.sub) : {};
        return personIn({ ...more, ...claims });
      }),

    close: outgoing.close,
  };
}

async function readMetadata(access: ProviderAccess, outgoing: OutgoingRequests): Promise<Configuration> {
  const openid = await import('openid-client');
  const { issuer, clientId, clientSecret } = access;
  const isLocal = isLoopback(new URL(issuer));
  const configuration = await openid.discovery(new URL(issuer), clientId, clientSecret, authentication, {
    [openid.customFetch]: fetchWith(outgoing),
    timeout: timeoutMs / 1000,
    // Without this extension, the library does not check the signatures of ID tokens.
    execute: [openid.enableNonRepudiationChecks, ...(isLocal ? [openid.allowInsecureRequests] : [])],
  });
  const metadata = configuration.serverMetadata();
  // The library's own check of the issuer is not enough: for some providers, it accepts the issuer of every
  // organization that uses the provider. People of other organizations could then sign in.
  if (new URL(metadata.issuer).href !== new URL(issuer).href) {
    throw new ProviderError('issuer', `The metadata names the issuer ${metadata.issuer}`);
  }
  if (!metadata.authorization_endpoint || !metadata.token_endpoint || !metadata.jwks_uri) {
    throw new ProviderError('invalid', 'The metadata lacks an endpoint');
  }
  return configuration;

  /**
   * Returns a function that adds the client secret to a request, in a way that the provider supports. If the provider's
   * metadata lists no ways, the function uses `client_secret_basic`.
   */
  function authentication(...given: Parameters<ReturnType<typeof openid.ClientSecretBasic>>) {
    const [{ token_endpoint_auth_methods_supported: methods = ['client_secret_basic'] }] = given;
    const isBasic = methods.includes('client_secret_basic') || !methods.includes('client_secret_post');
    return (isBasic ? openid.ClientSecretBasic(clientSecret) : openid.ClientSecretPost(clientSecret))(...given);
  }
}

/**
 * Builds the function that sends the requests of the library. This function follows no redirects and limits the size of
 * answers.
 */
function fetchWith(outgoing: OutgoingRequests) {
  return async (url: string, { method, headers, body, signal }: CustomFetchOptions): Promise<Response> => {
    const request = { headers, signal };
    const answer =
      method === 'POST'
        ? await outgoing.post(url, { ...request, body: String(body ?? '') })
        : await outgoing.get(url, request);
    // A Response object cannot have every HTTP status, and must not have a body with some statuses.
    const status = answer.status >= 200 && answer.status < 600 ? answer.status : 502;
    const isEmpty = [204, 205, 304].includes(status);
    const contentType = answer.headers['content-type'] ?? '';
    return new Response(isEmpty ? null : new Uint8Array(answer.body), {
      status,
      headers: { 'content-type': contentType },
    });
  };
}

/** Runs a request to a provider. Converts a failure to a ProviderError, whose message contains no token. */
async function explained<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ProviderError) throw error;
    for (let cause: unknown = error; cause instanceof Error; cause = cause.cause) {
      if (cause instanceof OutgoingRequestError) throw new ProviderError('unreachable', cause.message);
    }
    const { name, message, code, error: oauthError } = error as Error & { code?: string; error?: string };
    const detail = [name, code, oauthError ?? message].filter(part => part !== undefined).join(' ');
    if (code === 'OAUTH_TIMEOUT') throw new ProviderError('unreachable', detail);
    if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') throw new ProviderError('issuer', detail);
    throw new ProviderError(oauthError === 'access_denied' ? 'denied' : 'invalid', detail);
  }
}
