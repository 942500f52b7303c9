import { nothingToDo as nothing, type Rule } from './rule.ts';

/** What is judged of a document beside its schemas. */
export const operationRules = {
  'path-removed': {
    level: 'breaking',
    when: 'A path is gone, with all its operations. A path whose parameters have other names is the same path.',
    action: 'Stop calling it before this version is deployed.',
  },
  'path-added': { level: 'additive', when: 'There is a new path.', action: nothing },
  'operation-removed': {
    level: 'breaking',
    when: 'A method of a path is gone, deprecated or not.',
    action: 'Stop calling it before this version is deployed.',
  },
  'operation-added': { level: 'additive', when: 'A path has a new method.', action: nothing },
  'operation-id-changed': {
    level: 'risky',
    when: 'Requests and answers stay the same, but generated clients name their functions by it.',
    action: 'Rename the calls of a generated client.',
  },
  'path-parameter-renamed': {
    level: 'risky',
    when: 'A part of a path has another name. The URL stays the same, but generated clients name an argument by it.',
    action: 'Rename the argument in the calls of a generated client.',
  },
  'schema-name-removed': {
    level: 'risky',
    when: 'A named schema has another name, or none. JSON does not show it, but generated clients name a type by it.',
    action: 'Rename the type where code names it.',
  },
  'discriminator-removed': {
    level: 'risky',
    when: 'Alternatives have no `discriminator` any more. JSON does not show it, but generated clients choose a type by it.',
    action: 'Tell the alternatives apart by their fields.',
  },
  deprecated: {
    level: 'additive',
    when: 'An operation, a parameter, a header or a field is now marked as deprecated: it works as before, for now.',
    action: 'Plan to do without it.',
  },
  'deprecation-lifted': {
    level: 'additive',
    when: 'What was marked as deprecated is no longer.',
    action: nothing,
  },
  'link-removed': {
    level: 'risky',
    when: 'A link of a response is gone. No request needs it, but a client may be made to follow it.',
    action: 'Find the next request in another way.',
  },

  'server-removed': {
    level: 'breaking',
    when: 'The API is no longer at an address where it was, or no longer takes a value of a variable in one.',
    action: 'Move to an address that is left.',
  },
  'server-added': {
    level: 'additive',
    when: 'The API is at one more address, or takes one more value of a variable in one.',
    action: nothing,
  },
  'server-default-changed': {
    level: 'risky',
    when: 'A variable of an address has another default: a client that leaves it out goes elsewhere.',
    action: 'Name the value that you need.',
  },
  'server-variable-renamed': {
    level: 'risky',
    when: 'A variable of an address has another name. The URL stays the same, but generated clients name an argument by it.',
    action: 'Rename the argument where a generated client is made.',
  },

  'security-tightened': {
    level: 'breaking',
    when: 'What was enough to be let in no longer is: another scheme, one more scheme, one more scope, or no longer nobody.',
    action: 'Send what is needed now.',
  },
  'security-relaxed': {
    level: 'additive',
    when: 'There is one more way to be let in, or one that needs less.',
    action: nothing,
  },
  'oauth-flow-changed': {
    level: 'breaking',
    when: 'An OAuth flow or one of its scopes is gone, or one of its addresses is another.',
    action: 'Get tokens in the way that is described now.',
  },
  'oauth-flow-added': {
    level: 'additive',
    when: 'There is one more OAuth flow or scope.',
    action: nothing,
  },
  'grant-raised': {
    level: 'breaking',
    when: 'An operation, or one of its query parameters, needs a higher grant (`x-grant`, `x-grant-by-query`).',
    action: 'Have tokens issued with that grant.',
  },
  'grant-lowered': { level: 'additive', when: 'A lower grant is enough.', action: nothing },
  'bucket-changed': {
    level: 'risky',
    when: 'Requests are charged to another bucket (`x-bucket`), which they now share with others.',
    action: 'Spread requests by the new bucket.',
  },
  'rate-limit-lowered': {
    level: 'risky',
    when: 'Fewer requests are let through in the same time (`x-rate-limit`): a busy client meets 429.',
    action: 'Send fewer requests, and honour Retry-After.',
  },
  'rate-limit-raised': { level: 'additive', when: 'More requests are let through.', action: nothing },

  'parameter-removed': {
    level: 'breaking',
    when: 'A query, header or cookie parameter is gone: what it asked for is refused or no longer done.',
    action: 'Stop sending it.',
  },
  'parameter-required': {
    level: 'breaking',
    when: 'A parameter is new and required, or was optional.',
    action: 'Send it with every request.',
  },
  'parameter-added': { level: 'additive', when: 'There is a new optional parameter.', action: nothing },
  'parameter-optional': { level: 'additive', when: 'A required parameter may be left out.', action: nothing },
  'parameter-serialization-changed': {
    level: 'breaking',
    when: 'The same value is written in another way (`style`, `explode`, `allowReserved`, `allowEmptyValue`, `content`).',
    action: 'Write the value in the new way.',
  },

  'request-body-required': {
    level: 'breaking',
    when: 'A body is required where there was none, or where it was optional.',
    action: 'Send a body with every request.',
  },
  'request-body-optional': { level: 'additive', when: 'The body may be left out.', action: nothing },
  'request-body-added': {
    level: 'additive',
    when: 'There may be a body where there was none.',
    action: nothing,
  },
  'request-body-removed': {
    level: 'breaking',
    when: 'No body is taken any more: what it said is refused or lost.',
    action: 'Stop sending a body.',
  },
  'request-media-type-removed': {
    level: 'breaking',
    when: 'A media type of the body is no longer taken.',
    action: 'Send another media type.',
  },
  'request-media-type-added': { level: 'additive', when: 'One more media type is taken.', action: nothing },
  'encoding-changed': {
    level: 'risky',
    when: 'The parts of a form are encoded in another way (`encoding`), which is seldom but may be refused.',
    action: 'Encode the parts as described now.',
  },

  'response-status-removed': {
    level: 'breaking',
    when: 'A status is no longer answered, and with it its body and error keys.',
    action: 'Stop waiting for it, and handle what is answered instead.',
  },
  'response-status-added': {
    level: 'risky',
    when: 'A status is answered that was not described: a client that knows only the others may take it for a failure of its own.',
    action: 'Handle it, at least as its class (2xx, 4xx, 5xx).',
  },
  'response-body-removed': {
    level: 'breaking',
    when: 'An answer that had a body has none.',
    action: 'Stop reading the body.',
  },
  'response-body-added': { level: 'additive', when: 'An answer that had no body has one.', action: nothing },
  'response-media-type-removed': {
    level: 'breaking',
    when: 'The answer no longer comes in a media type.',
    action: 'Ask for another media type, and read that.',
  },
  'response-media-type-added': {
    level: 'additive',
    when: 'The answer comes in one more media type, for those who ask for it by `Accept`.',
    action: nothing,
  },
  'response-header-removed': {
    level: 'breaking',
    when: 'A header is no longer sent.',
    action: 'Stop reading it.',
  },
  'response-header-optional': {
    level: 'breaking',
    when: 'A header that was always sent may be missing.',
    action: 'Do without it where it is missing.',
  },
  'response-header-required': { level: 'additive', when: 'A header is now always sent.', action: nothing },
  'response-header-added': { level: 'additive', when: 'There is a new header.', action: nothing },

  'webhook-removed': {
    level: 'breaking',
    when: 'A webhook or callback is no longer sent.',
    action: 'Learn of it in another way.',
  },
  'webhook-added': { level: 'additive', when: 'There is a new webhook or callback.', action: nothing },
  'webhook-body-removed': {
    level: 'breaking',
    when: 'A webhook that had a body has none.',
    action: 'Stop reading the body.',
  },
  'webhook-body-optional': {
    level: 'breaking',
    when: 'A webhook that always had a body may have none.',
    action: 'Do without the body where it is missing.',
  },
  'webhook-body-added': { level: 'additive', when: 'A webhook now has a body.', action: nothing },
  'webhook-media-type-changed': {
    level: 'breaking',
    when: 'A webhook comes in another media type, or in one more: a receiver cannot choose.',
    action: 'Read that media type.',
  },
  'webhook-parameter-removed': {
    level: 'breaking',
    when: 'A webhook comes without a header or parameter that it had, or not always with it.',
    action: 'Do without it.',
  },
  'webhook-parameter-added': {
    level: 'additive',
    when: 'A webhook comes with one more header or parameter, or always with one that it sometimes had.',
    action: nothing,
  },
  'webhook-answer-refused': {
    level: 'breaking',
    when: 'An answer of a receiver that was taken no longer is.',
    action: 'Answer with a status that is taken.',
  },
  'webhook-answer-added': {
    level: 'additive',
    when: 'One more answer of a receiver is taken.',
    action: nothing,
  },
  'webhook-security-changed': {
    level: 'breaking',
    when: 'A webhook is authenticated in another way.',
    action: 'Check what is sent now.',
  },
} as const satisfies Record<string, Rule>;
