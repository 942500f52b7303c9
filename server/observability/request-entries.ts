import { z } from 'zod';
import { defineCountedEntry as countedEntry, defineEntry as entry, field, oneOf, text, whole } from './define-entry.ts';

const request = { request_id: field.requestId, ip: field.ip };
const withToken = { ...request, account_id: field.accountId, token_id: field.tokenId };
const userId = whole('the user');

/** The error keys that refuse a valid token. */
export const grantRefusals = [
  'agent_api_unavailable',
  'board_not_granted',
  'insufficient_scope',
  'token_issuer_not_moderator',
  'user_blocked',
] as const;

/** Refused requests, and the state of the server. */
export const requestEntries = {
  'authentication.failed': countedEntry('A request had no valid token and was answered 401.', {
    ...request,
    reason: oneOf(
      ['missing', 'malformed', 'unknown', 'wrong_secret', 'access_token'],
      'the header is missing; it has no token in it; no token has this id; the secret is wrong; the OAuth access token is unknown or expired',
    ),
    account_id: field.accountId.optional(),
    token_id: field.tokenId.optional(),
  }),
  'token.used_after_revocation': countedEntry(
    'A revoked token was used with the right secret: somebody still has it.',
    withToken,
  ),
  'token.used_after_expiry': countedEntry('An expired token was used with the right secret.', withToken),
  'grant.refused': countedEntry('A request with a valid token was answered 403.', {
    ...request,
    reason: oneOf(grantRefusals, 'the error key'),
    account_id: field.accountId,
    token_id: field.tokenId,
    user_id: whole('the issuer of the token'),
  }),
  'rate_limit.exceeded': entry('A request exceeded a rate limit. There is one entry for each counter and window.', {
    ...request,
    bucket: z
      .string()
      .describe(
        'the rate limit: `apitoken:read` or `apitoken:write` of a token, or `ip` of a client network; `sign-in` and `password-link`, each with `:ip` or `:address`, for sign-in attempts and mailed links; `invitation:user`, `invitation:account` and `invitation:address`; `oauth-client:ip` and `oauth-authorization:ip` for the registrations and authorization requests of OAuth clients',
      ),
    limit: whole('the number of requests allowed in a window'),
    window_seconds: whole('the length of the window'),
    account_id: field.accountId.optional(),
    token_id: field.tokenId.optional(),
  }),
  'readiness.not_ready': entry('`GET /ready` answered 503.', {
    failed: z
      .array(z.enum(['database', 'migrations', 'cron']))
      .readonly()
      .describe('the failed checks: `database`, `migrations`, `cron`'),
  }),
  'extension.recorded': entry('An extension recorded an entry.', {
    extension: text('the name of the extension'),
    what: text('what happened, in the words of the extension'),
    details: z.record(z.string(), z.unknown()).describe('further details'),
  }),
};

/** Signing in and out in the pages. Changes in the pages are administration entries. */
export const signInEntries = {
  'sign_in.succeeded': entry('A user signed in.', { ...request, user_id: userId }),
  'sign_in.failed': countedEntry('A sign-in failed. The page does not show the reason.', {
    ...request,
    reason: oneOf(
      ['unknown_user', 'no_password', 'wrong_password', 'blocked'],
      'no user has the address; the user has no password; the password is wrong; the user is blocked or being erased',
    ),
    user_id: userId.optional(),
  }),
  sign_out: entry('A user signed out.', { ...request, user_id: userId }),
  'session.ended_everywhere': entry('A user signed out in all browsers.', {
    ...request,
    user_id: userId,
    sessions: whole('the number of sessions'),
  }),
  'password.reset_requested': countedEntry('A link to set a password was requested.', {
    ...request,
    user_id: userId.optional().describe('the user with the address, if any'),
  }),
  'password.refused': countedEntry('A signed-in user entered a wrong password when asked to confirm it.', {
    ...request,
    user_id: userId,
  }),
  'form.refused': countedEntry('A form was refused because of its origin or its form token.', {
    ...request,
    reason: oneOf(['origin', 'token'], 'the wrong origin, or the wrong form token'),
    user_id: userId.optional(),
  }),
};

/** Actions of OAuth clients. The consent of a person is the administration entry `token.created`. */
export const oauthEntries = {
  'oauth.client_registered': entry('An OAuth client registered itself. This grants it no access.', {
    ...request,
    client_id: text('the client'),
    target: text('the host, or the scheme, of its first redirect URI'),
  }),
  'oauth.grant_ended': entry(
    'An OAuth grant was revoked because of a request to the OAuth endpoints. The entry follows `token.revoked`.',
    {
      ...request,
      reason: oneOf(
        ['revoked_by_client', 'code_reused', 'refresh_token_reused'],
        'the client revoked it; an authorization code was reused; a refresh token was reused',
      ),
      account_id: field.accountId,
      token_id: field.tokenId,
    },
  ),
};
