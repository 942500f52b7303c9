import { transportKeys } from '../errors.ts';
import { maxBodyBytes } from '../limits.ts';

const description = `Feedback boards for machine clients: read, search and create ideas, vote and comment; as a moderator, set statuses, tag and merge.

## Tokens

Every request carries a bearer token, \`Authorization: Bearer ib_<id>_<secret>\`. A token grants boards at \`read\`, \`write\` or \`moderate\`, each including the ones before it. One that grants several boards names one with \`board\` in every request. \`x-grant\` says which grant an operation needs, \`x-grant-by-query\` which parameter needs a higher one.

## Errors

An error is \`{ "error": { "key", "message" } }\`. Rely on the HTTP status and the key; the text of a message may change. Each response lists the keys that it can carry; \`x-error-keys\`, at the root of this document, has every key with its status and meaning. When several apply, the first of these wins: the limit of the client's address, the token, the limit of the token, the plan, the board, the grant, the issuer, the body's format, its fields, what is not there, what is closed, the rules of the domain. A path with a method that it does not have answers 405 \`method_not_allowed\` with \`Allow\`. A request that is not valid HTTP, or that does not arrive in time, gets a key that no operation lists: ${transportKeys.map(key => `\`${key}\``).join(', ')}.

## Limits

A token has two buckets, of reads and of writes; \`x-bucket\` says which an operation charges, and \`x-rate-limit\` what it holds by default. Every answer to a valid token says what is left (\`RateLimit\`, \`X-RateLimit-*\`), a 429 when to come back (\`Retry-After\`). Requests of one address are limited as well, whatever they carry. A body has at most ${maxBodyBytes / 1024} KiB.

## Sending again

A POST with an \`Idempotency-Key\` may be sent again: it is done once and answered twice. A vote and a moderator's action set an end state, so that repeating one changes nothing without a key either. Reads of a board carry an \`ETag\`; with \`If-None-Match\` they answer 304 and charge nothing while it is current.

## Lists

A list is \`{ data, page, per_page, has_more, next_cursor }\`. Ask for the next page with \`cursor\`, which stays fast however far you read, or by its number with \`page\`.

## Growth

Within v1 the contract only grows: ignore fields that you do not know, and expect new values where a field has a set of them.`;

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
    description: 'Wherever your Idea-Board is reached.',
    variables: {
      base_url: {
        default: 'http://localhost:3000',
        description: 'The address of the server, without a slash at its end.',
      },
    },
  },
];

/** The headings under which the operations stand, in the order of a reader's interest. */
export const tags = [
  { name: 'Board', description: 'The board, its status registry and its tags.' },
  { name: 'Ideas', description: 'Reading, searching and creating ideas.' },
  { name: 'Votes', description: 'The vote of the token on an idea.' },
  { name: 'Comments', description: 'The comments of an idea.' },
  { name: 'Moderation', description: 'Statuses, tags and merging; the `moderate` grant.' },
  { name: 'Token', description: 'The token itself and its limits.' },
  { name: 'Tools', description: 'The same operations as tools, for agents that speak the Model Context Protocol.' },
  { name: 'Webhooks', description: 'What is posted to the addresses that an account registered for it.' },
  { name: 'Probes', description: 'For uptime monitors and load balancers; without authentication.' },
];

export const securitySchemes = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    description: 'An API token: `Authorization: Bearer ib_<id>_<secret>`.',
  },
};
