import type { FastifyRequest } from 'fastify';
import type { ClientMetadata } from 'oidc-provider';
import { grantTypes, scopes, toolScope } from './metadata.ts';

/*
 * What a client says of itself, when it registers or in a document at its URL. Nobody has looked at it: what is not used
 * is not kept, and what it says may not lead people or this server anywhere that it should not.
 */

/** What is kept. Among the rest are addresses that the provider would fetch, and keys. */
const kept = new Set([
  'application_type',
  'client_id',
  'client_id_issued_at',
  'client_name',
  'client_secret',
  'client_secret_expires_at',
  'client_uri',
  'grant_types',
  'logo_uri',
  'policy_uri',
  'redirect_uris',
  'response_types',
  'scope',
  'software_id',
  'software_version',
  'token_endpoint_auth_method',
  'tos_uri',
]);

/** What the provider has to be told of tokens that are never issued. */
export const fixedMetadata = {
  id_token_signed_response_alg: 'ES256',
  subject_type: 'public',
  require_auth_time: false,
  // In the fragment or in a form that sends itself, a code would take ways that no client of the tools needs.
  response_modes: ['query'],
};

/** More than any client has: each is a row that strangers can make. */
const maxBytes = 8 * 1024;
const maxRedirects = 10;

/** Leaves of a client's metadata what is kept, and answers what is wrong with it; undefined when nothing is. */
export function tidyMetadata(metadata: ClientMetadata): string | undefined {
  for (const name of Object.keys(metadata)) {
    if (!kept.has(name)) delete metadata[name];
  }
  Object.assign(metadata, structuredClone(fixedMetadata));
  // A document is public and holds no secret: where it says nothing of it, its client authenticates by none.
  const isDocument = metadata.client_id?.startsWith('https://');
  if (isDocument && metadata.token_endpoint_auth_method === 'client_secret_basic') {
    metadata.token_endpoint_auth_method = 'none';
  }
  leaveOutWhatOthersHave(metadata);
  if (isDocument && !isOffered(metadata.scope)) delete metadata.scope;
  const text = JSON.stringify(metadata);
  if (Buffer.byteLength(text) > maxBytes) return `the metadata must not be longer than ${maxBytes} bytes`;
  // Half a character, or none, is nothing that can be stored.
  if (/\\u0000|\\ud[89a-f][0-9a-f]{2}/i.test(text)) return 'the metadata has a character that cannot be stored';
  const { redirect_uris: uris, scope } = metadata;
  if (typeof scope === 'string' && !isOffered(scope)) return `scope must have ${toolScope} in it`;
  if (!Array.isArray(uris)) return undefined; // The provider says so.
  if (uris.length > maxRedirects) return `redirect_uris must not have more than ${maxRedirects} members`;
  for (const uri of uris) {
    const problem = problemOfRedirect(uri);
    if (problem) return `redirect_uris: ${problem}`;
  }
  return undefined;
}

/**
 * Clients say what they can do with any server, and a document tells all servers the same: that of VS Code names the grant
 * of devices. Of that, what this server has is what they are registered with. Where it has none of it, that is refused.
 */
function leaveOutWhatOthersHave(metadata: ClientMetadata) {
  for (const [name, offered] of Object.entries({ grant_types: grantTypes, response_types: ['code'] })) {
    const given = metadata[name];
    const usable = Array.isArray(given) ? given.filter(value => offered.includes(value)) : [];
    if (usable.length > 0) metadata[name] = usable;
  }
  // A client may ask for all that there is, whichever part of it it knew when it registered.
  if (isOffered(metadata.scope)) metadata.scope = scopes.join(' ');
}

function isOffered(scope: unknown): boolean {
  return typeof scope === 'string' && scope.split(' ').some(one => scopes.includes(one));
}

/** What is at home on the machine of whoever uses the client: nothing that is sent there passes a network. */
const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/** What sends a code over the network unencrypted, or opens no program that waits for one. The provider refuses others. */
const noTargets = new Set(['filesystem:', 'ftp:', 'mailto:', 'sms:', 'tel:', 'view-source:', 'ws:', 'wss:']);

function problemOfRedirect(uri: unknown): string | undefined {
  if (typeof uri !== 'string' || !/^[\x21-\x7e]+$/.test(uri) || uri.includes('\\')) return 'must be printable ASCII';
  const url = URL.parse(uri);
  if (!url) return 'must be URLs';
  if (url.username !== '' || url.password !== '') return 'must not contain a user or a password';
  if (noTargets.has(url.protocol)) return `must not lead to ${url.protocol} addresses`;
  if (url.protocol === 'http:' && !loopback.has(url.hostname)) return 'http is for loopback addresses alone';
  return undefined;
}

/** Where a redirect leads, for people: the host, or for a program on their machine what its links begin with. */
export function shownTarget(redirectUri: string): { host: string; isLocal: boolean; isWeb: boolean } {
  const url = new URL(redirectUri);
  const isWeb = url.protocol === 'https:' || url.protocol === 'http:';
  return { host: isWeb ? url.host : url.protocol, isLocal: isWeb && loopback.has(url.hostname), isWeb };
}

/**
 * What form-action has to allow for Chromium to follow a redirect after a form: the origin. An address of IPv6 cannot be
 * written there, and a host may hold what ends a directive: of such the scheme is allowed.
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
