import { z } from 'zod';
import { defineEvent, field, oneOf, text, whole } from './define-event.ts';

/** A request, and the client that sent it. */
const request = { request_id: field.requestId, ip: field.ip };
const withToken = { ...request, account_id: field.accountId, token_id: field.tokenId };
const userId = whole('who it is about');

/** What happens to requests of clients, and to the server. */
export const requestEvents = {
  'authentication.failed': defineEvent(
    'A request was answered 401: it had no token, or one that is none.',
    {
      ...request,
      reason: oneOf(
        ['missing', 'malformed', 'unknown', 'wrong_secret', 'access_token'],
        'there was no header; it was not of the form of a token; no token has the id; the token has another secret; it was an unknown or expired OAuth access token; each expires after an hour',
      ),
      account_id: field.accountId.optional(),
      token_id: field.tokenId.optional(),
    },
    ['ip', 'reason', 'account_id', 'token_id'],
  ),
  'token.used_after_revocation': defineEvent(
    'A token that is revoked was used, with its secret: somebody still has it.',
    withToken,
    ['ip', 'account_id', 'token_id'],
  ),
  'token.used_after_expiry': defineEvent('A token whose time is over was used, with its secret.', withToken, [
    'ip',
    'account_id',
    'token_id',
  ]),
  'grant.refused': defineEvent(
    'A valid token was refused with 403 what it asked for.',
    {
      ...request,
      reason: oneOf(
        [
          'agent_api_unavailable',
          'board_not_granted',
          'insufficient_scope',
          'token_issuer_not_moderator',
          'user_blocked',
        ],
        'the key of the error',
      ),
      account_id: field.accountId,
      token_id: field.tokenId,
      user_id: whole('who issued the token'),
    },
    ['ip', 'reason', 'account_id', 'token_id', 'user_id'],
  ),
  'rate_limit.exceeded': defineEvent('The first request of a window was over its limit: one line for each window.', {
    ...request,
    bucket: z
      .string()
      .describe(
        '`apitoken:read`, `apitoken:write`, or `ip` for the limit of a network; `sign-in` and `password-link`, each `:ip` or `:address`, for tries of passwords and links by mail; `invitation:user`, `:account` and `:address`; `oauth-client:ip` and `oauth-authorization:ip` for clients that register and ask for consent',
      ),
    limit: whole('how many requests a window has'),
    window_seconds: whole('how long it is'),
    account_id: field.accountId.optional(),
    token_id: field.tokenId.optional(),
  }),
  'readiness.not_ready': defineEvent('`GET /ready` answered 503.', {
    failed: z
      .array(z.enum(['database', 'migrations', 'cron']))
      .readonly()
      .describe('which of `database`, `migrations` and `cron` failed'),
  }),
  'extension.recorded': defineEvent('What an extension of the server tells.', {
    extension: text('its name'),
    what: text('what happened, in its own words'),
    details: z.record(z.string(), z.unknown()).describe('what it adds to that'),
  }),
};

/** How people come and go in the pages. What they do there is in the events of the administration. */
export const signInEvents = {
  'sign_in.succeeded': defineEvent('Somebody signed in.', { ...request, user_id: userId }),
  'sign_in.failed': defineEvent(
    'Somebody did not get in. The answer is the same for every reason.',
    {
      ...request,
      reason: oneOf(
        ['unknown_user', 'no_password', 'wrong_password', 'blocked'],
        'nobody has the address; they have set no password; another password; they are blocked, or being erased',
      ),
      user_id: userId.optional(),
    },
    ['ip', 'reason', 'user_id'],
  ),
  sign_out: defineEvent('Somebody signed out.', { ...request, user_id: userId }),
  'session.ended_everywhere': defineEvent('Somebody signed out in every browser.', {
    ...request,
    user_id: userId,
    sessions: whole('in how many they were signed in'),
  }),
  'password.reset_requested': defineEvent(
    'Somebody asked for a link by which a password is set.',
    { ...request, user_id: userId.optional().describe("whose address it is; left out where it is nobody's") },
    ['ip', 'user_id'],
  ),
  'password.refused': defineEvent(
    'Somebody who is signed in gave another password than theirs, where they were asked for it again.',
    { ...request, user_id: userId },
    ['ip', 'user_id'],
  ),
  'form.refused': defineEvent(
    'A form of the pages came from another site, or without what proves that it is ours.',
    { ...request, reason: oneOf(['origin', 'token'], 'which of the two'), user_id: userId.optional() },
    ['ip', 'reason', 'user_id'],
  ),
};

/** What clients of OAuth do. What people agree to is in the events of the administration, as `token.created`. */
export const oauthEvents = {
  'oauth.client_registered': defineEvent('A client registered itself. It may do nothing yet.', {
    ...request,
    client_id: text('the client'),
    target: text('the host, or the scheme, of the first address at which it wants answers'),
  }),
  'oauth.grant_ended': defineEvent(
    'What a client was granted ended because of what it did, or somebody with its codes. `token.revoked` goes before it.',
    {
      ...request,
      reason: oneOf(
        ['revoked_by_client', 'code_reused', 'refresh_token_reused'],
        'it asked for that; a code was redeemed a second time; a refresh token was',
      ),
      account_id: field.accountId,
      token_id: field.tokenId,
    },
  ),
};
