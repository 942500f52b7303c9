import { generateKeyPairSync } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeJwt, importJWK, type JWTPayload, SignJWT } from 'jose';
import { Provider } from 'oidc-provider';

/** The claims about a person at the OpenID provider. */
export interface PersonAtProvider {
  sub: string;
  email?: string;
  email_verified?: boolean;
  name?: string;
}

/** A real OpenID provider on this machine. The person in the field `person` is always signed in at the provider. */
export interface OpenidProvider {
  issuer: string;
  clientId: string;
  clientSecret: string;
  /** The person who is signed in at the provider. If the value is null, the person cancels the sign-in. */
  person: PersonAtProvider | null;
  /** If set, this function changes the claims of each ID token. The provider signs the changed token with its key. */
  changeIdToken: ((claims: JWTPayload) => JWTPayload) | undefined;
  /**
   * If set, this function can answer requests in place of the provider. If it returns false, the provider answers the
   * request.
   */
  answer: ((request: IncomingMessage, response: ServerResponse) => boolean) | undefined;
  /** The paths of the requests that the provider has received. */
  requests: string[];
  close(): Promise<void>;
}

const client = { clientId: 'idea-board', clientSecret: 'a-secret-of-the-client' };

/**
 * If `hasLeanTokens` is true, an ID token has only the subject. So the server must ask the userinfo endpoint for the
 * e-mail address.
 */
export async function startOpenidProvider({ hasLeanTokens = false } = {}): Promise<OpenidProvider> {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const jwk = { ...keys.privateKey.export({ format: 'jwk' }), kid: 'test', alg: 'RS256', use: 'sig' };
  const server = createServer();
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  const own: OpenidProvider = {
    issuer,
    ...client,
    person: null,
    changeIdToken: undefined,
    answer: undefined,
    requests: [],
    close: async () => {
      server.closeAllConnections();
      await new Promise(resolve => server.close(resolve));
    },
  };
  const provider = providerAt(issuer, own, { jwks: { keys: [jwk] }, conformIdTokenClaims: hasLeanTokens });
  const callback = provider.callback();

  server.on('request', (request, response) => {
    const path = (request.url ?? '').split('?', 1)[0] ?? '';
    own.requests.push(path);
    if (own.answer?.(request, response)) return;
    if (path.startsWith('/interaction/')) void signIn(provider, own, request, response);
    else if (path === '/token') void answerToken(request, response);
    else void callback(request, response);
  });
  return own;

  async function answerToken(request: IncomingMessage, response: ServerResponse) {
    const { changeIdToken } = own;
    if (!changeIdToken) return callback(request, response);
    const end = response.end.bind(response);
    response.end = ((body: Buffer | string) => {
      const answer = JSON.parse(String(body));
      void resign(changeIdToken(decodeJwt(answer.id_token))).then(id_token => {
        const changed = JSON.stringify({ ...answer, id_token });
        response.setHeader('content-length', Buffer.byteLength(changed));
        end(changed);
      });
      return response;
    }) as typeof response.end;
    return callback(request, response);
  }

  async function resign(claims: JWTPayload): Promise<string> {
    return new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'test' }).sign(await importJWK(jwk, 'RS256'));
  }
}

function providerAt(issuer: string, own: OpenidProvider, configuration: object): Provider {
  const provider: Provider = new Provider(issuer, {
    clients: [
      { client_id: own.clientId, client_secret: own.clientSecret, redirect_uris: ['http://ideas.example.com/any'] },
    ],
    ...configuration,
    cookies: { keys: ['a key'] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    ttl: { Interaction: 600, Grant: 600, Session: 600, AccessToken: 600, IdToken: 600, AuthorizationCode: 60 },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: async (_ctx: unknown, sub: string) => ({ accountId: sub, claims: async () => own.person ?? { sub } }),
    async loadExistingGrant({ oidc }: { oidc: { session: { accountId: string }; client: { clientId: string } } }) {
      const { session, client } = oidc;
      const grant = new provider.Grant({ accountId: session.accountId, clientId: client.clientId });
      grant.addOIDCScope('openid email profile');
      await (grant as unknown as { save(): Promise<string> }).save();
      return grant;
    },
  });
  // Allows every redirect URI, because each account of each test has another redirect URI.
  Object.assign(provider.Client.prototype, { redirectUriAllowed: () => true });
  (provider as unknown as { silent: boolean }).silent = true;
  return provider;
}

async function signIn(
  provider: Provider,
  { person }: OpenidProvider,
  request: IncomingMessage,
  response: ServerResponse,
) {
  const result = person ? { login: { accountId: person.sub, remember: false } } : { error: 'access_denied' };
  const { interactionFinished } = provider as unknown as {
    interactionFinished(request: IncomingMessage, response: ServerResponse, result: object): Promise<void>;
  };
  await interactionFinished.call(provider, request, response, result);
}

/**
 * Follows the redirects of a provider as a browser does, until a redirect leads to another server. Returns the URL of
 * this last redirect.
 */
export async function passThrough(start: string, issuer: string): Promise<string> {
  const cookies = new Map<string, string>();
  let url = start;
  while (url.startsWith(issuer)) {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const response = await fetch(url, { redirect: 'manual', headers: { cookie } });
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? [];
      cookies.set(name, value);
    }
    const location = response.headers.get('location');
    if (location === null) throw new Error(`The provider answered ${response.status}: ${await response.text()}`);
    url = new URL(location, url).href;
  }
  return url;
}
