import { z } from 'zod';
import { defineCountedEntry as countedEntry, defineEntry as entry, field, oneOf, text, whole } from './define-entry.ts';

const request = { request_id: field.requestId, ip: field.ip };
const withToken = { ...request, account_id: field.accountId, token_id: field.tokenId };
const userId = whole('the id of the user');

/** The error keys for requests with a valid token whose permissions do not allow the request. */
export const grantRefusals = [
  'network_not_allowed',
  'agent_api_unavailable',
  'board_not_granted',
  'insufficient_scope',
  'missing_capability',
  'token_issuer_not_moderator',
  'user_blocked',
] as const;

/** The audit entries for refused requests and failed readiness checks, and the entries that extensions add. */
export const requestEntries = {
  'authentication.failed': countedEntry('The server answered 401, because a request had no valid token.', {
    ...request,
    reason: oneOf(
      ['missing', 'malformed', 'unknown', 'wrong_secret', 'access_token'],
      'the cause. `missing`: the request has no Authorization header. `malformed`: the header contains no token. `unknown`: the token id in the Authorization header does not exist. `wrong_secret`: the secret of the token is wrong. `access_token`: the OAuth access token is unknown or expired',
    ),
    account_id: field.accountId.optional(),
    token_id: field.tokenId.optional(),
  }),
  'token.used_after_revocation': countedEntry(
    'The server refused a revoked token. The secret of the token was right.',
    withToken,
  ),
  'token.used_after_expiry': countedEntry(
    'The server refused an expired token. The secret of the token was right.',
    withToken,
  ),
  'grant.refused': countedEntry(
    'The server refused a request with a valid token, because the plan, the token or its issuer did not allow the request, or the token did not allow the network.',
    {
      ...request,
      reason: oneOf(grantRefusals, 'the error key of the response'),
      account_id: field.accountId,
      token_id: field.tokenId,
      user_id: whole('the id of the issuer of the token'),
    },
  ),
  'rate_limit.exceeded': entry(
    'A client exceeded a rate limit. If the client sends more requests in the same time window, the server writes no further entry.',
    {
      ...request,
      bucket: z
        .string()
        .describe(
          'the rate limit. `apitoken:read` counts reads with one token, and `apitoken:write` counts writes. `member` counts votes, ideas, comments, changes of comments and follows that one person sends in the browser. `ip` counts requests from one client IP address. `sign-in:ip`, `sign-in:address` and `sign-in:browser` count failed sign-ins. `sign-in:success` counts successful sign-ins. `provider:ip` counts failed sign-ins with identity providers. `second-factor:ip`, `second-factor:user`, `second-factor:browser` and `second-factor:browsers` count wrong codes of two-factor sign-in. `password-link:ip` and `password-link:address` count password links. `sign-in-link:ip` and `sign-in-link:address` count links to sign in or sign up. `address-link:user` and `address-link:address` count links to confirm an e-mail address. `invitation:user`, `invitation:account` and `invitation:address` count invitations. `unconfirmed-address:account` counts new people of one account whose address comes from a sign-in provider or from an embedding token. `data-export:user` counts downloads of their own data by one person. `oauth-client:ip` counts registrations of OAuth clients and fetches of client documents. `oauth-authorization:ip` counts authorization requests of OAuth clients',
        ),
      limit: whole('the number of requests that the server allows in one time window'),
      window_seconds: whole('the length of the time window in seconds'),
      account_id: field.accountId.optional(),
      token_id: field.tokenId.optional(),
    },
  ),
  'readiness.not_ready': entry('`GET /ready` answered 503, because a check failed.', {
    failed: z
      .array(z.enum(['database', 'migrations', 'cron']))
      .readonly()
      .describe('the list of failed checks: `database`, `migrations`, `cron`'),
  }),
  'extension.recorded': entry('An extension added an entry to the audit log.', {
    extension: text('the name of the extension'),
    what: text('the name that the extension gives to the entry'),
    details: z.record(z.string(), z.unknown()).describe('the fields that the extension adds'),
  }),
};

const codeMethod = {
  method: oneOf(
    ['totp', 'recovery_code'],
    'the kind of code. `totp`: a code of an authenticator app. `recovery_code`: a recovery code',
  ),
};

/** Why the server refuses a person after a sign-in at an identity provider. */
const identityRefusals = ['unverified_address', 'may_not_join', 'must_confirm'] as const;

/** The fields of a sign-in with an identity provider. */
const atProvider = {
  account_id: field.accountId.optional(),
  provider_id: whole('the id of the identity provider').optional(),
};

/**
 * The audit entries for sign-ins, sessions, passwords, views of the operator's panel and refused forms. The entries for
 * other changes are in administrationEntries.
 */
export const signInEntries = {
  'sign_in.link_requested': countedEntry(
    'Somebody asked for a mailed link to sign in or to sign up. Only some addresses get a mail.',
    {
      ...request,
      user_id: userId
        .optional()
        .describe('the id of the user with the entered e-mail address; absent if no user has this e-mail address'),
    },
  ),
  'sign_in.succeeded': entry('A user signed in.', {
    ...request,
    user_id: userId,
    method: oneOf(
      ['password', 'link', 'invitation', 'provider', 'embedding'],
      'how the user signed in. `password`: with a password. `link`: through a mailed link. `invitation`: as a new user who accepted an invitation. `provider`: with an identity provider of an account, and only for this account. `embedding`: on an embedded board, with a token of the application that embeds the board',
    ),
    ...atProvider,
  }),
  'sign_in.failed': countedEntry(
    'A sign-in failed. After a failed sign-in with a password, the sign-in page shows the same error for every reason, except that a blocked user who entered the right password learns which accounts block the user.',
    {
      ...request,
      reason: oneOf(
        ['unknown_user', 'no_password', 'wrong_password', 'blocked', 'link', 'provider', ...identityRefusals],
        'the cause. `unknown_user`: no user has the e-mail address. `no_password`: the user has set no password. `wrong_password`: the password is wrong. `blocked`: the user is blocked or is being erased. `link`: the mailed link does not exist, was used already or no longer works. `provider`: the sign-in with an identity provider was refused there, expired or was used already, or the answer of the provider was invalid. `unverified_address`: the provider has not verified the address of a new person. `may_not_join`: the account does not let the person join. `must_confirm`: an existing user has the address of a new person, and must confirm the identity first',
      ),
      user_id: userId.optional(),
      ...atProvider,
    },
  ),
  'sign_in.token_refused': countedEntry(
    'An application sent a token to sign a person in on an embedded board, and the server refused the token.',
    {
      ...request,
      account_id: field.accountId,
      reason: oneOf(
        [
          'signature',
          'expired',
          'not_yet',
          'lifetime',
          'audience',
          'claims',
          'used',
          'blocked',
          'second_factor',
          'confirm',
        ],
        'the cause. `signature`: no secret of the account signed the token with HS256. `expired`: the token has expired. `not_yet`: the token is not valid yet. `lifetime`: the token expires too late or never. `audience`: the token is for another server. `claims`: the id, the e-mail address or the name of the person is missing or invalid. `used`: the token has been used already. `blocked`: the user is blocked or is being erased. `second_factor`: the user has two-factor sign-in, and a frame cannot ask for a code. `confirm`: an existing user has the e-mail address of the person, and must first confirm the connection',
      ),
    },
  ),
  'sign_in.code_requested': entry(
    'The server asked a user with two-factor sign-in for a code, after the right password, a mailed link or a sign-in with an identity provider. The user has no session yet.',
    { ...request, user_id: userId },
  ),
  'sign_in.second_factor_failed': countedEntry(
    'A user with two-factor sign-in entered a wrong code: at a sign-in, or in a form of the profile.',
    { ...request, ...codeMethod, user_id: userId },
  ),
  'sign_in.second_factor_succeeded': entry(
    'A user with two-factor sign-in entered a right code. An entry `sign_in.succeeded` follows.',
    { ...request, ...codeMethod, user_id: userId },
  ),
  sign_out: entry('A user signed out.', { ...request, user_id: userId }),
  'session.ended_everywhere': entry('A user signed out in all browsers.', {
    ...request,
    user_id: userId,
    sessions: whole('the number of browser sessions that the server ended'),
  }),
  'password.reset_requested': countedEntry('Somebody asked for a link to set a password.', {
    ...request,
    user_id: userId
      .optional()
      .describe(
        'the id of the user with the entered e-mail address; absent if no user has this e-mail address, or if the user may not sign in',
      ),
  }),
  'password.refused': countedEntry(
    'A signed-in user entered a wrong password in a form that asks for the current password.',
    {
      ...request,
      user_id: userId,
    },
  ),
  'operator.viewed': entry("An operator opened a page of the operator's panel.", {
    ...request,
    user_id: whole('the id of the operator'),
    page: text('the path of the page, with `:id` in the place of an id'),
    id: whole('the id of the account or user on the page').optional(),
  }),
  'form.refused': countedEntry('The server refused a submitted form, because another site may have forged the form.', {
    ...request,
    reason: oneOf(
      ['origin', 'token'],
      'the cause. `origin`: a page of another origin sent the form. `token`: the secret form token is missing or wrong',
    ),
    user_id: userId.optional(),
  }),
};

/** The audit entries for actions of OAuth clients. A user's consent has the administration entry `token.created`. */
export const oauthEntries = {
  'oauth.client_registered': entry(
    'An OAuth client registered itself. The registration alone gives the client no access.',
    {
      ...request,
      client_id: text('the id of the OAuth client'),
      target: text('the host or the scheme of the first redirect URI of the client'),
    },
  ),
  'oauth.grant_ended': entry(
    'A request to the OAuth endpoints ended an OAuth grant. An entry `token.revoked` for the same grant comes before this entry.',
    {
      ...request,
      reason: oneOf(
        ['revoked_by_client', 'code_reused', 'refresh_token_reused'],
        'the cause. `revoked_by_client`: the client revoked the grant. `code_reused`: somebody used an authorization code twice. `refresh_token_reused`: somebody used a refresh token that a newer one had replaced',
      ),
      account_id: field.accountId,
      token_id: field.tokenId,
    },
  ),
};
