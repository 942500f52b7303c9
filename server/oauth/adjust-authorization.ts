import type { Context } from 'oidc-provider';
import { DomainError } from '../domain/domain-error.ts';
import { toolScope } from './metadata.ts';

/**
 * The parameters of an authorization request that this server uses. The server removes all other parameters from the
 * request. Most of the removed parameters belong to OpenID Connect and mean nothing without an ID token. Some of them,
 * such as login_hint, contain personal data. The server does not support `request` and `request_uri`. They are in the
 * list so that oidc-provider sees and refuses them.
 */
const readParameters = new Set(
  (
    'client_id code_challenge code_challenge_method prompt redirect_uri request request_uri resource response_mode ' +
    'response_type scope state'
  ).split(' '),
);

/**
 * Adjusts an authorization request to this server. The server supports only the scopes `mcp` and `offline_access`, but
 * clients may omit the scope or add the scopes of other servers. Parameters that occur twice stay unchanged, because
 * oidc-provider refuses them.
 */
export function adjustAuthorization(ctx: Context): void {
  const query = Object.fromEntries(Object.entries(ctx.query).filter(([name]) => readParameters.has(name)));
  const { scope } = query;
  if (scope === undefined || typeof scope === 'string') {
    const offline = scope?.split(' ').includes('offline_access') ? ' offline_access' : '';
    query.scope = toolScope + offline;
  }
  // Removes `select_account` from the parameter `prompt`, because the user always selects an account on the consent
  // page.
  if (typeof query.prompt === 'string') {
    query.prompt =
      query.prompt
        .split(' ')
        .filter(one => one !== 'select_account')
        .join(' ') || undefined;
  }
  // Makes oidc-provider refuse every response mode except `query`. For the value `unsupported`, oidc-provider redirects
  // to the client with the error in the query.
  if (query.response_mode !== undefined && query.response_mode !== 'query') query.response_mode = 'unsupported';
  ctx.query = query;
}

/**
 * The maximum number of parameters of an authorization request. OAuth defines far fewer. Reading 1,000 parameters takes
 * 15 ms.
 */
const maxParameters = 100;

/** Refuses a request with too many parameters before oidc-provider reads it. */
export function refuseManyParameters(query: object): void {
  if (Object.keys(query).length > maxParameters) throw new DomainError('validation_failed');
}

/**
 * The maximum URL length of a request to oidc-provider. An authorization request is stored until the user answers, so
 * long URLs could fill the database.
 */
const maxLength = 8 * 1024;

/** Whether a request can be stored: its URL is short and has no NUL, which PostgreSQL cannot store. */
export function canBeStored({ query, req }: Context): boolean {
  if ((req.url?.length ?? 0) > maxLength) return false;
  return !Object.values(query)
    .flat()
    .some(value => value?.includes('\0'));
}
