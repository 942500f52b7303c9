import type { Context } from 'oidc-provider';
import { DomainError } from '../domain/domain-error.ts';
import { toolScope } from './metadata.ts';

/**
 * The parameters that are read. The others belong to OpenID Connect and have no meaning without an ID token. Some of them
 * name people and would be stored with the request. The provider refuses `request` and `request_uri`, which would replace
 * the other parameters.
 */
const readParameters = new Set(
  (
    'client_id code_challenge code_challenge_method prompt redirect_uri request request_uri resource response_mode ' +
    'response_type scope state'
  ).split(' '),
);

/**
 * Adjusts an authorization request to this server. It has one scope of its own, which clients may omit or combine with the
 * scopes of other servers. Leaves repeated parameters to the provider, which refuses them.
 */
export function adjustAuthorization(ctx: Context): void {
  const query = Object.fromEntries(Object.entries(ctx.query).filter(([name]) => readParameters.has(name)));
  const { scope } = query;
  if (scope === undefined || typeof scope === 'string') {
    const offline = scope?.split(' ').includes('offline_access') ? ' offline_access' : '';
    query.scope = toolScope + offline;
  }
  // Every consent selects an account, so a request for that is always fulfilled.
  if (typeof query.prompt === 'string') {
    query.prompt =
      query.prompt
        .split(' ')
        .filter(one => one !== 'select_account')
        .join(' ') || undefined;
  }
  // The provider refuses any other mode, and reports the error in the mode query.
  if (query.response_mode !== undefined && query.response_mode !== 'query') query.response_mode = 'unsupported';
  ctx.query = query;
}

/** Far more than OAuth defines. The provider takes 15 ms for a thousand parameters. */
const maxParameters = 100;

/** Refuses a request with too many parameters before the provider reads it. */
export function refuseManyParameters(query: object): void {
  if (Object.keys(query).length > maxParameters) throw new DomainError('validation_failed');
}

/** A request is stored until it is answered. No client needs a longer one. */
const maxLength = 8 * 1024;

/** Whether a request can be stored. PostgreSQL cannot store NUL characters. */
export function canBeStored({ query, req }: Context): boolean {
  if ((req.url?.length ?? 0) > maxLength) return false;
  return !Object.values(query)
    .flat()
    .some(value => value?.includes('\0'));
}
