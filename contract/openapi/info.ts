import { transportKeys } from '../errors.ts';
import { maxBodyBytes } from '../limits.ts';

const description = `Feedback boards for machine clients: read, search and create ideas, vote and comment; as a moderator, set statuses, tag and merge.

## Tokens

Send a bearer token with every request: \`Authorization: Bearer ib_<id>_<secret>\`. A token has a grant on each of its boards: \`read\`, \`write\` or \`moderate\`. Each grant includes the grants before it. If the token has several boards, name one with \`board\` in every request. \`x-grant\` is the grant that an operation needs. \`x-grant-by-query\` names parameters, or values such as \`expand=votes\`, that need a higher grant. \`x-capability\` is a capability that an operation needs besides the grant. An admin chooses the capabilities of a new token.

## Errors

An error is \`{ "error": { "key", "message" } }\`. Rely on the HTTP status and the key. The text of a message can change. Each response lists its possible keys. \`x-error-keys\`, at the root of this document, has every key with its status and meaning.

If several errors apply, you get the first one in this order:

1. the rate limit of the client's address (429)
2. the token (401)
3. the network of the client (403)
4. the rate limit of the token (429)
5. the plan (403)
6. the board (400, 403)
7. the grant and the capability (403)
8. the role of the issuer (403)
9. the format of the body (400, 413, 415)
10. validation (422)
11. not found (404)
12. closed (423)
13. domain rules (422)

An unsupported method on an existing path returns 405 \`method_not_allowed\` with \`Allow\`. A request that is invalid HTTP, or that does not arrive in time, gets a key that no operation lists: ${transportKeys.map(key => `\`${key}\``).join(', ')}.

## Limits

A token has two rate limits: one for reads and one for writes. \`x-bucket\` names the limit of an operation, and \`x-rate-limit\` is its default. The response of an operation that accepts the token and its network shows the remaining requests (\`RateLimit\`, \`X-RateLimit-*\`). A 429 says when to retry (\`Retry-After\`). Requests from one address are also limited, with or without a token. If an address exceeds its limit, these headers of the 429 describe the limit of the address. A body has at most ${maxBodyBytes / 1024} KiB.

## Retries

You can safely retry a POST with an \`Idempotency-Key\`: the server runs it once and repeats the response. Repeating a vote, a status, a tag or a merge changes nothing, even without a key. Reads of a board return an \`ETag\`. Send it as \`If-None-Match\`: while it is current, the response is 304 and does not count against the rate limit.

## Lists

A list is \`{ data, page, per_page, has_more, next_cursor }\`. Get the next page with \`cursor\`, which stays fast on far pages, or by its number with \`page\`. Lists of events and deliveries have no page numbers.

## Compatibility

Within v1, the contract only grows. Ignore unknown fields, and expect new values in fields with a set of values.`;

export const info = {
  title: 'Idea-Board Agent API',
  version: '1.0.0',
  summary: 'Ideas, votes, comments, tags and statuses on feedback boards, for machine clients.',
  description,
  license: { name: 'MIT', identifier: 'MIT' },
  contact: { name: 'Idea-Board' },
};

export const servers = [
  {
    url: '{base_url}',
    description: 'Your Idea-Board server.',
    variables: {
      base_url: {
        default: 'http://localhost:3000',
        description: 'The address of the server, without a trailing slash.',
      },
    },
  },
];

/** The tags that group the operations, in the order of the document. The most interesting tag comes first. */
export const tags = [
  { name: 'Board', description: 'The board, its status registry and its tags.' },
  { name: 'Ideas', description: 'Read, search and create ideas.' },
  { name: 'Votes', description: 'Vote on ideas.' },
  { name: 'Comments', description: 'Read and add comments.' },
  { name: 'Events', description: 'Follow what happens on a board.' },
  { name: 'Moderation', description: 'Set statuses, tag and merge. Needs the `moderate` grant.' },
  { name: 'Notes', description: 'Notes about ideas, for moderators only. Needs the `moderate` grant.' },
  { name: 'Token', description: 'The token and its rate limits.' },
  { name: 'Tools', description: 'The same operations as tools for agents, over the Model Context Protocol.' },
  {
    name: 'Webhooks',
    description: 'Webhooks, and the events that the server sends to them. Needs the capability `manage_webhooks`.',
  },
  { name: 'Probes', description: 'For uptime monitors and load balancers. No authentication.' },
];

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token: `Authorization: Bearer ib_<id>_<secret>`.',
  },
};
