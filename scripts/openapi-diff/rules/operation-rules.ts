import { nothingToDo as nothing, type Rule } from './rule.ts';

/** The rules for all parts of a document except schemas. */
export const operationRules = {
  'path-removed': {
    level: 'breaking',
    when: 'A path and all its operations were removed. A path with renamed parameters counts as the same path.',
    action: 'Stop calling the path before the new version of the server is deployed.',
  },
  'path-added': { level: 'additive', when: 'A path was added.', action: nothing },
  'operation-removed': {
    level: 'breaking',
    when: 'A method of a path was removed. The removal of a deprecated method is also breaking.',
    action: 'Stop calling the method before the new version of the server is deployed.',
  },
  'operation-added': { level: 'additive', when: 'A method was added to a path.', action: nothing },
  'operation-id-changed': {
    level: 'risky',
    when: 'An operation id changed. Requests and responses are the same, but generated clients name their functions after the id.',
    action: 'After you regenerate your client, use the new name of the function.',
  },
  'path-parameter-renamed': {
    level: 'risky',
    when: 'A path parameter was renamed. The URL is the same, but generated clients name an argument after the parameter.',
    action: 'After you regenerate your client, use the new name of the argument.',
  },
  'schema-name-removed': {
    level: 'risky',
    when: 'A schema was renamed, or no longer has a name. The JSON is the same, but generated clients name a type after the schema.',
    action: 'After you regenerate your client, use the new name of the type.',
  },
  'discriminator-removed': {
    level: 'risky',
    when: 'The `discriminator` of variants (`oneOf` or `anyOf`) was removed. The JSON is the same, but generated clients choose a type by the `discriminator`.',
    action: 'Distinguish the variants by their fields.',
  },
  deprecated: {
    level: 'additive',
    when: 'An operation, a parameter, a header or a field is now deprecated, but still works.',
    action: 'Plan to stop using the deprecated operation, parameter, header or field.',
  },
  'deprecation-lifted': {
    level: 'additive',
    when: 'An operation, a parameter, a header or a field is no longer deprecated.',
    action: nothing,
  },
  'link-removed': {
    level: 'risky',
    when: 'An OpenAPI link (`links`) of a response was removed. Some clients may follow the link.',
    action: 'Build the next request without the link.',
  },

  'server-removed': {
    level: 'breaking',
    when: 'A server URL (`servers`) was removed, or a variable in a server URL lost a value.',
    action: 'Send requests to a server URL of the new document.',
  },
  'server-added': {
    level: 'additive',
    when: 'A server URL (`servers`) was added, or a variable in a server URL got an additional value.',
    action: nothing,
  },
  'server-default-changed': {
    level: 'risky',
    when: 'The default of a variable in a server URL changed. A client that does not set the variable now uses another URL.',
    action: 'Set the variable explicitly.',
  },
  'server-variable-renamed': {
    level: 'risky',
    when: 'A variable in a server URL was renamed. The URL is the same, but generated clients name an argument after the variable.',
    action: 'After you regenerate your client, use the new name of the argument.',
  },

  'security-tightened': {
    level: 'breaking',
    when: 'Requests need another authentication scheme, an additional scheme or scope, or, for the first time, credentials.',
    action: 'Send the credentials that the new document requires.',
  },
  'security-relaxed': {
    level: 'additive',
    when: 'An alternative way to authenticate was added, or requests need fewer credentials than before.',
    action: nothing,
  },
  'oauth-flow-changed': {
    level: 'breaking',
    when: 'An OAuth flow or a scope was removed, or a URL of an OAuth flow changed.',
    action: 'Get OAuth tokens through the flow that the new document describes.',
  },
  'oauth-flow-added': {
    level: 'additive',
    when: 'An OAuth flow or a scope was added.',
    action: nothing,
  },
  'grant-raised': {
    level: 'breaking',
    when: 'An operation or a query parameter needs a higher grant than before (`x-grant`, `x-grant-by-query`).',
    action: 'Create and use API tokens with the higher grant.',
  },
  'grant-lowered': {
    level: 'additive',
    when: 'An operation or a query parameter needs a lower grant than before.',
    action: nothing,
  },
  'bucket-changed': {
    level: 'risky',
    when: 'The requests of an operation count against another rate limit than before (`x-bucket`).',
    action: 'Send no more requests than the new rate limit allows.',
  },
  'rate-limit-lowered': {
    level: 'risky',
    when: 'The rate limit is stricter than before (`x-rate-limit`). A client that sends many requests may get 429.',
    action: 'Send fewer requests. After a response with 429, wait for the seconds in `Retry-After`.',
  },
  'rate-limit-raised': {
    level: 'additive',
    when: 'The rate limit allows more requests in the same time than before.',
    action: nothing,
  },

  'parameter-removed': {
    level: 'breaking',
    when: 'A query, header or cookie parameter was removed. The server refuses or ignores the parameter.',
    action: 'Stop sending the parameter.',
  },
  'parameter-required': {
    level: 'breaking',
    when: 'A required parameter was added, or an optional parameter became required.',
    action: 'Send the parameter with every request.',
  },
  'parameter-added': { level: 'additive', when: 'An optional parameter was added.', action: nothing },
  'parameter-optional': { level: 'additive', when: 'A required parameter became optional.', action: nothing },
  'parameter-serialization-changed': {
    level: 'breaking',
    when: 'The serialization of a parameter or header changed (`style`, `explode`, `allowReserved`, `allowEmptyValue`, `content`).',
    action: 'Serialize the parameter or header as the new document describes.',
  },

  'request-body-required': {
    level: 'breaking',
    when: 'A request now needs a body. Before, the body was optional or not accepted.',
    action: 'Send a body with every request.',
  },
  'request-body-optional': { level: 'additive', when: 'The body of a request became optional.', action: nothing },
  'request-body-added': {
    level: 'additive',
    when: 'A request now accepts a body.',
    action: nothing,
  },
  'request-body-removed': {
    level: 'breaking',
    when: 'A request no longer accepts a body. The server refuses or ignores the body.',
    action: 'Stop sending a body.',
  },
  'request-media-type-removed': {
    level: 'breaking',
    when: 'A media type of the request body is no longer accepted.',
    action: 'Send the body in a media type of the new document.',
  },
  'request-media-type-added': {
    level: 'additive',
    when: 'A request body may have an additional media type.',
    action: nothing,
  },
  'encoding-changed': {
    level: 'risky',
    when: 'The encoding of form parts changed (`encoding`). The new server may refuse the old encoding.',
    action: 'Send form parts in the new encoding.',
  },

  'response-status-removed': {
    level: 'breaking',
    when: 'A response status was removed, together with its body and its error keys.',
    action: 'Handle the status that replaces the removed status.',
  },
  'response-status-added': {
    level: 'risky',
    when: 'A response status was added. A client that knows only the old statuses may fail when it gets the new status.',
    action: 'Handle the new status, or at least its class (2xx, 4xx or 5xx).',
  },
  'response-body-removed': {
    level: 'breaking',
    when: 'A response lost its body.',
    action: 'Stop reading the body of the response.',
  },
  'response-body-added': { level: 'additive', when: 'A response got a body.', action: nothing },
  'response-media-type-removed': {
    level: 'breaking',
    when: 'A media type of a response was removed.',
    action: 'Request and parse a media type of the new document.',
  },
  'response-media-type-added': {
    level: 'additive',
    when: 'A media type of a response was added. Only clients that name the new media type in `Accept` get it.',
    action: nothing,
  },
  'response-header-removed': {
    level: 'breaking',
    when: 'A response header was removed.',
    action: 'Stop reading the header.',
  },
  'response-header-optional': {
    level: 'breaking',
    when: 'A response header that was always present became optional.',
    action: 'Handle responses without the header.',
  },
  'response-header-required': { level: 'additive', when: 'A response header is now always present.', action: nothing },
  'response-header-added': { level: 'additive', when: 'A response header was added.', action: nothing },

  'webhook-removed': {
    level: 'breaking',
    when: 'A webhook or callback was removed.',
    action: 'Find another source for the data of the webhook or callback.',
  },
  'webhook-added': { level: 'additive', when: 'A webhook or callback was added.', action: nothing },
  'webhook-body-removed': {
    level: 'breaking',
    when: 'A webhook lost its body.',
    action: 'In your receiver, stop reading the body.',
  },
  'webhook-body-optional': {
    level: 'breaking',
    when: 'The body of a webhook became optional.',
    action: 'In your receiver, handle webhooks without a body.',
  },
  'webhook-body-added': { level: 'additive', when: 'A webhook got a body.', action: nothing },
  'webhook-media-type-changed': {
    level: 'breaking',
    when: 'The media type of a webhook changed, or a media type was added. A receiver cannot choose the media type.',
    action: 'In your receiver, parse the new media type.',
  },
  'webhook-parameter-removed': {
    level: 'breaking',
    when: 'A header or parameter of a webhook was removed or became optional.',
    action: 'In your receiver, handle webhooks without the header or parameter.',
  },
  'webhook-parameter-added': {
    level: 'additive',
    when: 'A header or parameter of a webhook was added, or became required.',
    action: nothing,
  },
  'webhook-answer-refused': {
    level: 'breaking',
    when: 'The server no longer accepts one of the response statuses of a receiver.',
    action: 'In your receiver, respond with a status of the new document.',
  },
  'webhook-answer-added': {
    level: 'additive',
    when: 'The server accepts an additional response status of a receiver.',
    action: nothing,
  },
  'webhook-security-changed': {
    level: 'breaking',
    when: 'The authentication of a webhook changed.',
    action: 'In your receiver, check requests against the new credentials.',
  },
} as const satisfies Record<string, Rule>;
