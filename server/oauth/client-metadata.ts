import type { FastifyRequest } from 'fastify';
import type { ClientMetadata } from 'oidc-provider';
import { grantTypes, scopes, toolScope } from './metadata.ts';

/*
 * Checks the metadata of a client. The metadata comes from the client's registration, or from the document at the URL
 * that identifies the client. The metadata is untrusted. So the server stores only the fields that it uses, and refuses
 * redirect URIs that are unsafe for people or for the server.
 */

/** The metadata fields to store. The other fields include keys, and URLs that oidc-provider would fetch. */
const storedFields = new Set(
  (
    'application_type client_id client_id_issued_at client_name client_secret client_secret_expires_at client_uri ' +
    'grant_types logo_uri policy_uri redirect_uris response_types scope software_id software_version ' +
    'token_endpoint_auth_method tos_uri'
  ).split(' '),
);

/**
 * The fixed values of metadata fields that oidc-provider requires. Some of these fields concern tokens that this server
 * never issues.
 */
export const fixedMetadata = {
  id_token_signed_response_alg: 'ES256',
  subject_type: 'public',
  require_auth_time: false,
  // Allows only the response mode `query`, because no MCP client needs the authorization code in a URL fragment or in a
  // form post.
  response_modes: ['query'],
};

/** The maximum size of stored metadata, because anybody can register a client. Real clients need less. */
const maxBytes = 8 * 1024;
const maxRedirects = 10;

/** Removes unsupported values from a client's metadata. Returns an error message if the rest is invalid. */
export function tidyMetadata(metadata: ClientMetadata): string | undefined {
  for (const name of Object.keys(metadata)) {
    if (!storedFields.has(name)) delete metadata[name];
  }
  Object.assign(metadata, structuredClone(fixedMetadata));
  // A metadata document is public and cannot contain a secret. So a client with such a document does not authenticate
  // itself by default.
  const isDocument = metadata.client_id?.startsWith('https://');
  if (isDocument && metadata.token_endpoint_auth_method === 'client_secret_basic') {
    metadata.token_endpoint_auth_method = 'none';
  }
  dropUnsupported(metadata);
  if (isDocument && !isOffered(metadata.scope)) delete metadata.scope;
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) > maxBytes) return `the metadata must not be longer than ${maxBytes} bytes`;
  // PostgreSQL cannot store NUL characters or lone surrogates.
  if (/\\u0000|\\ud[89a-f][0-9a-f]{2}/i.test(text)) return 'the metadata has a character that cannot be stored';
  const { redirect_uris: uris, scope } = metadata;
  if (typeof scope === 'string' && !isOffered(scope)) return `scope must have ${toolScope} in it`;
  if (!Array.isArray(uris)) return undefined; // Leaves a missing list to oidc-provider, which refuses it.
  if (uris.length > maxRedirects) return `redirect_uris must not have more than ${maxRedirects} members`;
  for (const uri of uris) {
    const problem = problemOfRedirect(uri);
    if (problem) return `redirect_uris: ${problem}`;
  }
  return undefined;
}

/**
 * Removes the grant types, response types and scopes that this server does not support. A client may list everything
 * that it supports on any server. For example, the document of VS Code lists the device grant. If a list has no
 * supported value, it stays unchanged, and oidc-provider refuses it.
 */
function dropUnsupported(metadata: ClientMetadata) {
  for (const [name, offered] of Object.entries({ grant_types: grantTypes, response_types: ['code'] })) {
    const given = metadata[name];
    const usable = Array.isArray(given) ? given.filter(value => offered.includes(value)) : [];
    if (usable.length > 0) metadata[name] = usable;
  }
  // Registers all scopes for the client, so that the client may later ask for scopes that its registration did not
  // name.
  if (isOffered(metadata.scope)) metadata.scope = scopes.join(' ');
}

function isOffered(scope: unknown): boolean {
  return typeof scope === 'string' && scope.split(' ').some(one => scopes.includes(one));
}

/** The hosts of redirect URIs on the user's own machine. Requests to these hosts do not cross a network. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * URL schemes that would send an authorization code unencrypted over the network, or open an application that does not
 * expect a code. oidc-provider itself refuses further schemes, which are not in this list.
 */
const forbiddenSchemes = new Set(['filesystem:', 'ftp:', 'mailto:', 'sms:', 'tel:', 'view-source:', 'ws:', 'wss:']);

function problemOfRedirect(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !/^[\x21-\x7e]+$/.test(uri) || uri.includes('\\')) return 'must be printable ASCII';
  const url = URL.parse(uri);
  if (!url) return 'must be URLs';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  if (forbiddenSchemes.has(url.protocol)) return `must not lead to ${url.protocol} addresses`;
  if (url.protocol === 'http:' && !loopback.has(url.hostname)) return 'http is for loopback addresses alone';
  return undefined;
}

/**
 * Returns the target of a redirect as a text for people. The text is a host, or the URL scheme of a local application.
 */
export function shownTarget(redirectUri: string): { host: string; isLocal: boolean; isWeb: boolean } {
  const url = new URL(redirectUri);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return { host: isWeb ? url.host : url.protocol, isLocal: isWeb && loopback.has(url.hostname), isWeb };
}

/**
 * Returns the redirect URI's source for the directive form-action in a page's Content-Security-Policy. Without this
 * source, Chromium would not follow the redirect after the user has sent the form. The source is usually the origin of
 * the redirect URI. If the host is an IPv6 address or has special characters, the directive cannot contain the origin.
 * The source is then the URL scheme.
 */
export function formTargetOf(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri);
  return /^https?:\/\/[a-z0-9.-]+(:\d+)?$/.test(origin) ? origin : protocol;
}

/**
 * The hook that removes the fields of fixedMetadata from answers about a registration. Only the first answer contains
 * the client's secret. Later answers omit the field with the secret, because the field would contain only a hash.
 */
export async function tidyRegistration(request: FastifyRequest, _reply: unknown, payload: unknown): Promise<unknown> {
  if (typeof payload !== 'object' || payload === null) return payload;
  const hidden = new Set([...Object.keys(fixedMetadata), ...(request.method === 'POST' ? [] : ['client_secret'])]);
  return Object.fromEntries(Object.entries(payload).filter(([name]) => !hidden.has(name)));
}
