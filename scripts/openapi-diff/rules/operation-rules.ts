import { nothingToDo as nothing, type Rule } from './rule.ts';

/** Rules for everything in a document except its schemas. */
export const operationRules = {
  'path-removed': {
    level: 'breaking',
    when: 'The path was removed with all its operations. A path with renamed parameters counts as the same path.',
    action: 'Stop calling it before this version is deployed.',
  },
  'path-added': { level: 'additive', when: 'A path was added.', action: nothing },
  'operation-removed': {
    level: 'breaking',
    when: 'A method of a path was removed, deprecated or not.',
    action: 'Stop calling it before this version is deployed.',
  },
  'operation-added': { level: 'additive', when: 'A method was added to a path.', action: nothing },
  'operation-id-changed': {
    level: 'risky',
    when: 'Requests and responses are the same, but generated clients name their functions after it.',
    action: 'Rename the calls of a generated client.',
  },
  'path-parameter-renamed': {
    level: 'risky',
    when: 'A path parameter was renamed. The URL is the same, but generated clients name an argument after it.',
    action: 'Rename the argument in the calls of a generated client.',
  },
  'schema-name-removed': {
    level: 'risky',
    when: 'A schema was renamed or lost its name. The JSON is the same, but generated clients name a type after it.',
    action: 'Rename the type where code names it.',
  },
  'discriminator-removed': {
    level: 'risky',
    when: 'Variants lost their `discriminator`. The JSON is the same, but generated clients choose a type by it.',
    action: 'Distinguish the variants by their fields.',
  },
  deprecated: {
    level: 'additive',
    when: 'An operation, a parameter, a header or a field is now deprecated. It still works.',
    action: 'Plan to stop using it.',
  },
  'deprecation-lifted': {
    level: 'additive',
    when: 'Something deprecated is supported again.',
    action: nothing,
  },
  'link-removed': {
    level: 'risky',
    when: 'A link of a response was removed. No request needs it, but a client may follow it.',
    action: 'Find the next request in another way.',
  },

  'server-removed': {
    level: 'breaking',
    when: 'A server address was removed, or a value of a variable in it.',
    action: 'Use a remaining address.',
  },
  'server-added': {
    level: 'additive',
    when: 'A server address was added, or a value of a variable in it.',
    action: nothing,
  },
  'server-default-changed': {
    level: 'risky',
    when: 'The default of a variable in an address changed. A client without a value now uses another address.',
    action: 'Set the value explicitly.',
  },
  'server-variable-renamed': {
    level: 'risky',
    when: 'A variable in an address was renamed. The URL is the same, but generated clients name an argument after it.',
    action: 'Rename the argument in the setup of a generated client.',
  },

  'security-tightened': {
    level: 'breaking',
    when: 'The old credentials are not enough: another scheme, an additional scheme or scope, or no longer anonymous.',
    action: 'Send the credentials that are now required.',
  },
  'security-relaxed': {
    level: 'additive',
    when: 'An alternative way to authenticate was added, or fewer credentials are required.',
    action: nothing,
  },
  'oauth-flow-changed': {
    level: 'breaking',
    when: 'An OAuth flow or a scope was removed, or one of its addresses changed.',
    action: 'Get tokens through the flow that is now described.',
  },
  'oauth-flow-added': {
    level: 'additive',
    when: 'An OAuth flow or scope was added.',
    action: nothing,
  },
  'grant-raised': {
    level: 'breaking',
    when: 'An operation or a query parameter needs a higher grant (`x-grant`, `x-grant-by-query`).',
    action: 'Create tokens with that grant.',
  },
  'grant-lowered': { level: 'additive', when: 'A lower grant is now enough.', action: nothing },
  'bucket-changed': {
    level: 'risky',
    when: 'Requests count in another bucket (`x-bucket`), together with other operations.',
    action: 'Plan requests for the new bucket.',
  },
  'rate-limit-lowered': {
    level: 'risky',
    when: 'Fewer requests are allowed in the same time (`x-rate-limit`). A busy client gets 429.',
    action: 'Send fewer requests, and honour Retry-After.',
  },
  'rate-limit-raised': { level: 'additive', when: 'More requests are allowed.', action: nothing },

  'parameter-removed': {
    level: 'breaking',
    when: 'A query, header or cookie parameter was removed. The server refuses or ignores it.',
    action: 'Stop sending it.',
  },
  'parameter-required': {
    level: 'breaking',
    when: 'A required parameter was added, or an optional one became required.',
    action: 'Send it with every request.',
  },
  'parameter-added': { level: 'additive', when: 'An optional parameter was added.', action: nothing },
  'parameter-optional': { level: 'additive', when: 'A required parameter became optional.', action: nothing },
  'parameter-serialization-changed': {
    level: 'breaking',
    when: 'The serialization of a value changed (`style`, `explode`, `allowReserved`, `allowEmptyValue`, `content`).',
    action: 'Serialize the value in the new way.',
  },

  'request-body-required': {
    level: 'breaking',
    when: 'A body is required. Before, it was optional or not accepted.',
    action: 'Send a body with every request.',
  },
  'request-body-optional': { level: 'additive', when: 'The body became optional.', action: nothing },
  'request-body-added': {
    level: 'additive',
    when: 'A request now accepts a body.',
    action: nothing,
  },
  'request-body-removed': {
    level: 'breaking',
    when: 'The request no longer accepts a body. The server refuses or ignores it.',
    action: 'Stop sending a body.',
  },
  'request-media-type-removed': {
    level: 'breaking',
    when: 'A media type of the body is no longer accepted.',
    action: 'Send another media type.',
  },
  'request-media-type-added': { level: 'additive', when: 'A media type of the body was added.', action: nothing },
  'encoding-changed': {
    level: 'risky',
    when: 'The encoding of form parts changed (`encoding`). A server may refuse the old one.',
    action: 'Use the new encoding.',
  },

  'response-status-removed': {
    level: 'breaking',
    when: 'A response status was removed, with its body and error keys.',
    action: 'Stop expecting it, and handle its replacement.',
  },
  'response-status-added': {
    level: 'risky',
    when: 'A response status was added. A client that knows only the others may treat it as its own failure.',
    action: 'Handle it, at least by its class (2xx, 4xx, 5xx).',
  },
  'response-body-removed': {
    level: 'breaking',
    when: 'A response lost its body.',
    action: 'Stop reading the body.',
  },
  'response-body-added': { level: 'additive', when: 'A response got a body.', action: nothing },
  'response-media-type-removed': {
    level: 'breaking',
    when: 'A media type of a response was removed.',
    action: 'Request and parse another media type.',
  },
  'response-media-type-added': {
    level: 'additive',
    when: 'A media type of a response was added. Clients request it with `Accept`.',
    action: nothing,
  },
  'response-header-removed': {
    level: 'breaking',
    when: 'A response header was removed.',
    action: 'Stop reading it.',
  },
  'response-header-optional': {
    level: 'breaking',
    when: 'A response header became optional.',
    action: 'Handle its absence.',
  },
  'response-header-required': { level: 'additive', when: 'A response header is now always present.', action: nothing },
  'response-header-added': { level: 'additive', when: 'A response header was added.', action: nothing },

  'webhook-removed': {
    level: 'breaking',
    when: 'A webhook or callback was removed.',
    action: 'Get the information in another way.',
  },
  'webhook-added': { level: 'additive', when: 'A webhook or callback was added.', action: nothing },
  'webhook-body-removed': {
    level: 'breaking',
    when: 'A webhook lost its body.',
    action: 'Stop reading the body.',
  },
  'webhook-body-optional': {
    level: 'breaking',
    when: 'The body of a webhook became optional.',
    action: 'Handle a missing body.',
  },
  'webhook-body-added': { level: 'additive', when: 'A webhook got a body.', action: nothing },
  'webhook-media-type-changed': {
    level: 'breaking',
    when: 'The media type of a webhook changed, or one was added. A receiver cannot choose.',
    action: 'Parse the new media type.',
  },
  'webhook-parameter-removed': {
    level: 'breaking',
    when: 'A header or parameter of a webhook was removed or became optional.',
    action: 'Work without it.',
  },
  'webhook-parameter-added': {
    level: 'additive',
    when: 'A header or parameter of a webhook was added, or became required.',
    action: nothing,
  },
  'webhook-answer-refused': {
    level: 'breaking',
    when: 'A response of a receiver is no longer accepted.',
    action: 'Answer with an accepted status.',
  },
  'webhook-answer-added': {
    level: 'additive',
    when: 'Another response of a receiver is accepted.',
    action: nothing,
  },
  'webhook-security-changed': {
    level: 'breaking',
    when: 'The authentication of a webhook changed.',
    action: 'Verify the new credentials.',
  },
} as const satisfies Record<string, Rule>;
