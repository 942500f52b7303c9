import type { FastifyRequest } from 'fastify';
import type { ClientMetadata } from 'oidc-provider';
import { grantTypes, scopes, toolScope } from './metadata.ts';

/*
 * Checks the metadata of a client, from its registration or from the document at its URL. It is untrusted: unused fields
 * are dropped, and redirect URIs must be safe for people and for this server.
 */

/** The stored fields. Others include keys, and URLs that the provider would fetch. */
const storedFields = new Set(
  (
    'application_type client_id client_id_issued_at client_name client_secret client_secret_expires_at client_uri ' +
    'grant_types logo_uri policy_uri redirect_uris response_types scope software_id software_version ' +
    'token_endpoint_auth_method tos_uri'
  ).split(' '),
);

/** Fields that the provider requires. Some are about tokens that are never issued. */
export const fixedMetadata = {
  id_token_signed_response_alg: 'ES256',
  subject_type: 'public',
  require_auth_time: false,
  // No client of the tools needs a code in a fragment or in a form.
  response_modes: ['query'],
};

/** More than clients have. Anybody can create these rows. */
const maxBytes = 8 * 1024;
const maxRedirects = 10;

/** Removes unsupported values from a client's metadata. Returns an error message if the rest is invalid. */
export function tidyMetadata(metadata: ClientMetadata): string | undefined {
  for (const name of Object.keys(metadata)) {
    if (!storedFields.has(name)) delete metadata[name];
  }
  Object.assign(metadata, structuredClone(fixedMetadata));
  // A document is public and has no secret, so by default its client does not authenticate.
  const isDocument = metadata.client_id?.startsWith('https://');
  if (isDocument && metadata.token_endpoint_auth_method === 'client_secret_basic') {
    metadata.token_endpoint_auth_method = 'none';
  }
  dropUnsupported(metadata);
  if (isDocument && !isOffered(metadata.scope)) delete metadata.scope;
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) > maxBytes) return `the metadata must not be longer than ${maxBytes} bytes`;
  // PostgreSQL cannot store NUL characters or half surrogate pairs.
  if (/\\u0000|\\ud[89a-f][0-9a-f]{2}/i.test(text)) return 'the metadata has a character that cannot be stored';
  const { redirect_uris: uris, scope } = metadata;
  if (typeof scope === 'string' && !isOffered(scope)) return `scope must have ${toolScope} in it`;
  if (!Array.isArray(uris)) return undefined; // The provider reports this error.
  if (uris.length > maxRedirects) return `redirect_uris must not have more than ${maxRedirects} members`;
  for (const uri of uris) {
    const problem = problemOfRedirect(uri);
    if (problem) return `redirect_uris: ${problem}`;
  }
  return undefined;
}

/**
 * Drops the grant types, response types and scopes that this server does not support. A client lists its abilities for all
 * servers: the document of VS Code has the device grant. If nothing is left, the list stays and is refused.
 */
function dropUnsupported(metadata: ClientMetadata) {
  for (const [name, offered] of Object.entries({ grant_types: grantTypes, response_types: ['code'] })) {
    const given = metadata[name];
    const usable = Array.isArray(given) ? given.filter(value => offered.includes(value)) : [];
    if (usable.length > 0) metadata[name] = usable;
  }
  // A client may later request all scopes, even if it registered only some.
  if (isOffered(metadata.scope)) metadata.scope = scopes.join(' ');
}

function isOffered(scope: unknown): boolean {
  return typeof scope === 'string' && scope.split(' ').some(one => scopes.includes(one));
}

/** The hosts of the user's own machine. Requests to them do not cross a network. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Schemes that send a code unencrypted over the network, or open a program that does not expect one. The provider refuses
 * further schemes.
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

/** The target of a redirect for people: the host, or the scheme of a program on their machine. */
export function shownTarget(redirectUri: string): { host: string; isLocal: boolean; isWeb: boolean } {
  const url = new URL(redirectUri);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return { host: isWeb ? url.host : url.protocol, isLocal: isWeb && loopback.has(url.hostname), isWeb };
}

/**
 * Returns the source for form-action that lets Chromium follow the redirect after the form: the origin. An IPv6 address or
 * a host with special characters is not valid there, so the source is then the scheme.
 */
export function formTargetOf(redirectUri: string): string {
  const { protocol, origin } = new URL(redirectUri);
  return /^https?:\/\/[a-z0-9.-]+(:\d+)?$/.test(origin) ? origin : protocol;
}

/**
 * The hook that removes two things from the answer to a registration: fields that the client did not register, and the
 * hash of its secret. The client gets the secret itself once.
 */
export async function tidyRegistration(request: FastifyRequest, _reply: unknown, payload: unknown): Promise<unknown> {
  if (typeof payload !== 'object' || payload === null) return payload;
  const hidden = new Set([...Object.keys(fixedMetadata), ...(request.method === 'POST' ? [] : ['client_secret'])]);
  return Object.fromEntries(Object.entries(payload).filter(([name]) => !hidden.has(name)));
}
