import { z } from 'zod';
import { defineEvent, field } from './define-event.ts';

/** A request, and the client that sent it. */
const request = { request_id: field.requestId, ip: field.ip };

/** What happens to requests of clients, and to the server. */
export const requestEvents = {
  'authentication.failed': defineEvent(
    'A request was answered 401: it had no token, or one that is none.',
    {
      ...request,
      reason: z
        .enum(['missing', 'malformed', 'unknown', 'wrong_secret', 'access_token'])
        .describe(
          'there was no header; it was not of the form of a token; no token has the id; the token has another secret; it was an unknown or expired OAuth access token; each expires after an hour',
        ),
      account_id: field.accountId.optional(),
      token_id: field.tokenId.optional(),
    },
    ['ip', 'reason', 'account_id', 'token_id'],
  ),
  'token.used_after_revocation': defineEvent(
    'A token that is revoked was used, with its secret: somebody still has it.',
    { ...request, account_id: field.accountId, token_id: field.tokenId },
    ['ip', 'account_id', 'token_id'],
  ),
  'token.used_after_expiry': defineEvent(
    'A token whose time is over was used, with its secret.',
    { ...request, account_id: field.accountId, token_id: field.tokenId },
    ['ip', 'account_id', 'token_id'],
  ),
  'grant.refused': defineEvent(
    'A valid token was refused with 403 what it asked for.',
    {
      ...request,
      reason: z
        .enum([
          'agent_api_unavailable',
          'board_not_granted',
          'insufficient_scope',
          'token_issuer_not_moderator',
          'user_blocked',
        ])
        .describe('the key of the error'),
      account_id: field.accountId,
      token_id: field.tokenId,
      user_id: field.userId('who issued the token'),
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
    limit: z.int().describe('how many requests a window has'),
    window_seconds: z.int().describe('how long it is'),
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
    extension: z.string().describe('its name'),
    what: z.string().describe('what happened, in its own words'),
    details: z.record(z.string(), z.unknown()).describe('what it adds to that'),
  }),
};
