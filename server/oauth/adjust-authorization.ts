import type { Context } from 'oidc-provider';
import { DomainError } from '../domain/domain-error.ts';
import { toolScope } from './metadata.ts';

/**
 * What is looked at. The rest is of OpenID Connect and means nothing where no ID token is issued; some of it names people,
 * and would be kept with the request.
 */
const lookedAt = new Set([
  'client_id',
  'code_challenge',
  'code_challenge_method',
  'prompt',
  'redirect_uri',
  // Both would put the request elsewhere, and are refused.
  'request',
  'request_uri',
  'resource',
  'response_mode',
  'response_type',
  'scope',
  'state',
]);

/**
 * Makes of what a client asks for what it can have: there is one scope, which clients may leave out, or name beside ones
 * that other servers have. What is given several times is left to be refused.
 */
export function adjustAuthorization(ctx: Context): void {
  const query = Object.fromEntries(Object.entries(ctx.query).filter(([name]) => lookedAt.has(name)));
  const { scope } = query;
  if (scope === undefined || typeof scope === 'string') {
    const offline = scope?.split(' ').includes('offline_access') ? ' offline_access' : '';
    query.scope = toolScope + offline;
  }
  // People choose each time whose account it is: a client that asks for that, as OpenID Connect lets it, has it.
  if (typeof query.prompt === 'string') {
    query.prompt =
      query.prompt
        .split(' ')
        .filter(one => one !== 'select_account')
        .join(' ') || undefined;
  }
  // Any other mode is refused, and of that the client is told in the only one that there is.
  if (query.response_mode !== undefined && query.response_mode !== 'query') query.response_mode = 'unsupported';
  ctx.query = query;
}

/** Far more than OAuth defines. The provider takes 15 ms for a thousand. */
const maxParameters = 100;

/** Refuses a request with too many parameters before the provider reads it. */
export function refuseManyParameters(query: object): void {
  if (Object.keys(query).length > maxParameters) throw new DomainError('validation_failed');
}

/** What comes with a request is kept until it is answered. No client has reason to send more. */
const maxLength = 8 * 1024;

/** Whether what a client sends can be kept: PostgreSQL has no NUL, which is in nothing that clients mean to send. */
export function canBeKept({ query, req }: Context): boolean {
  if ((req.url?.length ?? 0) > maxLength) return false;
  return !Object.values(query)
    .flat()
    .some(value => value?.includes('\0'));
}
