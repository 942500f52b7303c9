import { additive, breaking, type Rule, risky } from './rule.ts';

/** The rules for all parts of a document except schemas. */
export const operationRules = {
  'path-removed': breaking(
    'A path and all its operations were removed. A path with renamed parameters counts as the same path.',
    'Stop calling the path before the new version of the server is deployed.',
  ),
  'path-added': additive('A path was added.'),
  'operation-removed': breaking(
    'A method of a path was removed. The removal of a deprecated method is also breaking.',
    'Stop calling the method before the new version of the server is deployed.',
  ),
  'operation-added': additive('A method was added to a path.'),
  'operation-id-changed': risky(
    'An operation id changed. Requests and responses are the same, but generated clients name their functions after the id.',
    'After you regenerate your client, use the new name of the function.',
  ),
  'path-parameter-renamed': risky(
    'A path parameter was renamed. The URL is the same, but generated clients name an argument after the parameter.',
    'After you regenerate your client, use the new name of the argument.',
  ),
  'schema-name-removed': risky(
    'A schema was renamed, or no longer has a name. The JSON is the same, but generated clients name a type after the schema.',
    'After you regenerate your client, use the new name of the type.',
  ),
  'discriminator-removed': risky(
    'The `discriminator` of variants (`oneOf` or `anyOf`) was removed. The JSON is the same, but generated clients choose a type by the `discriminator`.',
    'Distinguish the variants by their fields.',
  ),
  deprecated: additive(
    'An operation, a parameter, a header or a field is now deprecated, but still works.',
    'Plan to stop using the deprecated operation, parameter, header or field.',
  ),
  'deprecation-lifted': additive('An operation, a parameter, a header or a field is no longer deprecated.'),
  'link-removed': risky(
    'An OpenAPI link (`links`) of a response was removed. Some clients may follow the link.',
    'Build the next request without the link.',
  ),

  'server-removed': breaking(
    'A server URL (`servers`) was removed, or a variable in a server URL lost a value.',
    'Send requests to a server URL of the new document.',
  ),
  'server-added': additive(
    'A server URL (`servers`) was added, or a variable in a server URL got an additional value.',
  ),
  'server-default-changed': risky(
    'The default of a variable in a server URL changed. A client that does not set the variable now uses another URL.',
    'Set the variable explicitly.',
  ),
  'server-variable-renamed': risky(
    'A variable in a server URL was renamed. The URL is the same, but generated clients name an argument after the variable.',
    'After you regenerate your client, use the new name of the argument.',
  ),

  'security-tightened': breaking(
    'Requests need another authentication scheme, an additional scheme or scope, or, for the first time, credentials.',
    'Send the credentials that the new document requires.',
  ),
  'security-relaxed': additive(
    'An alternative way to authenticate was added, or requests need fewer credentials than before.',
  ),
  'oauth-flow-changed': breaking(
    'An OAuth flow or a scope was removed, or a URL of an OAuth flow changed.',
    'Get OAuth tokens through the flow that the new document describes.',
  ),
  'oauth-flow-added': additive('An OAuth flow or a scope was added.'),
  'grant-raised': breaking(
    'An operation or a query parameter needs a higher grant than before (`x-grant`, `x-grant-by-query`).',
    'Create and use API tokens with the higher grant.',
  ),
  'grant-lowered': additive('An operation or a query parameter needs a lower grant than before.'),
  'bucket-changed': risky(
    'The requests of an operation count against another rate limit than before (`x-bucket`).',
    'Send no more requests than the new rate limit allows.',
  ),
  'rate-limit-lowered': risky(
    'The rate limit is stricter than before (`x-rate-limit`). A client that sends many requests may get 429.',
    'Send fewer requests. After a response with 429, wait for the seconds in `Retry-After`.',
  ),
  'rate-limit-raised': additive('The rate limit allows more requests in the same time than before.'),

  'parameter-removed': breaking(
    'A query, header or cookie parameter was removed. The server refuses or ignores the parameter.',
    'Stop sending the parameter.',
  ),
  'parameter-required': breaking(
    'A required parameter was added, or an optional parameter became required.',
    'Send the parameter with every request.',
  ),
  'parameter-added': additive('An optional parameter was added.'),
  'parameter-optional': additive('A required parameter became optional.'),
  'parameter-serialization-changed': breaking(
    'The serialization of a parameter or header changed (`style`, `explode`, `allowReserved`, `allowEmptyValue`, `content`).',
    'Serialize the parameter or header as the new document describes.',
  ),

  'request-body-required': breaking(
    'A request now needs a body. Before, the body was optional or not accepted.',
    'Send a body with every request.',
  ),
  'request-body-optional': additive('The body of a request became optional.'),
  'request-body-added': additive('A request now accepts a body.'),
  'request-body-removed': breaking(
    'A request no longer accepts a body. The server refuses or ignores the body.',
    'Stop sending a body.',
  ),
  'request-media-type-removed': breaking(
    'A media type of the request body is no longer accepted.',
    'Send the body in a media type of the new document.',
  ),
  'request-media-type-added': additive('A request body may have an additional media type.'),
  'encoding-changed': risky(
    'The encoding of form parts changed (`encoding`). The new server may refuse the old encoding.',
    'Send form parts in the new encoding.',
  ),

  'response-status-removed': breaking(
    'A response status was removed, together with its body and its error keys.',
    'Handle the status that replaces the removed status.',
  ),
  'response-status-added': risky(
    'A response status was added. A client that knows only the old statuses may fail when it gets the new status.',
    'Handle the new status, or at least its class (2xx, 4xx or 5xx).',
  ),
  'response-body-removed': breaking('A response lost its body.', 'Stop reading the body of the response.'),
  'response-body-added': additive('A response got a body.'),
  'response-media-type-removed': breaking(
    'A media type of a response was removed.',
    'Request and parse a media type of the new document.',
  ),
  'response-media-type-added': additive(
    'A media type of a response was added. Only clients that name the new media type in `Accept` get it.',
  ),
  'response-header-removed': breaking('A response header was removed.', 'Stop reading the header.'),
  'response-header-optional': breaking(
    'A response header that was always present became optional.',
    'Handle responses without the header.',
  ),
  'response-header-required': additive('A response header is now always present.'),
  'response-header-added': additive('A response header was added.'),

  'webhook-removed': breaking(
    'A webhook or callback was removed.',
    'Find another source for the data of the webhook or callback.',
  ),
  'webhook-added': additive('A webhook or callback was added.'),
  'webhook-body-removed': breaking('A webhook lost its body.', 'In your receiver, stop reading the body.'),
  'webhook-body-optional': breaking(
    'The body of a webhook became optional.',
    'In your receiver, handle webhooks without a body.',
  ),
  'webhook-body-added': additive('A webhook got a body.'),
  'webhook-media-type-changed': breaking(
    'The media type of a webhook changed, or a media type was added. A receiver cannot choose the media type.',
    'In your receiver, parse the new media type.',
  ),
  'webhook-parameter-removed': breaking(
    'A header or parameter of a webhook was removed or became optional.',
    'In your receiver, handle webhooks without the header or parameter.',
  ),
  'webhook-parameter-added': additive('A header or parameter of a webhook was added, or became required.'),
  'webhook-answer-refused': breaking(
    'The server no longer accepts one of the response statuses of a receiver.',
    'In your receiver, respond with a status of the new document.',
  ),
  'webhook-answer-added': additive('The server accepts an additional response status of a receiver.'),
  'webhook-security-changed': breaking(
    'The authentication of a webhook changed.',
    'In your receiver, check requests against the new credentials.',
  ),
} satisfies Record<string, Rule>;
