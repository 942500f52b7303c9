import { z } from 'zod';
import { defineEvent, field } from './define-event.ts';

/** A request of a client. */
const request = { request_id: field.requestId, ip: field.ip };

/** What clients of OAuth do. What people agree to is in the events of the administration, as `token.created`. */
export const oauthEvents = {
  'oauth.client_registered': defineEvent('A client registered itself. It may do nothing yet.', {
    ...request,
    client_id: z.string().describe('the client'),
    target: z.string().describe('the host, or the scheme, of the first address at which it wants answers'),
  }),
  'oauth.grant_ended': defineEvent(
    'What a client was granted ended because of what it did, or somebody with its codes. `token.revoked` goes before it.',
    {
      ...request,
      reason: z
        .enum(['revoked_by_client', 'code_reused', 'refresh_token_reused'])
        .describe('it asked for that; a code was redeemed a second time; a refresh token was'),
      account_id: field.accountId,
      token_id: field.tokenId,
    },
  ),
};
