/**
 * The effect of a change on clients. `breaking`: a correct client stops working. `risky`: some clients may stop
 * working. `additive`: no client has to change.
 */
export const levels = ['breaking', 'risky', 'additive'] as const;
export type Level = (typeof levels)[number];

interface Rule {
  level: Level;
  /** A description of the change that the rule reports. */
  when: string;
  action: string;
}

export const nothingToDo = 'Nothing to do.';

const breaking = (when: string, action: string): Rule => ({ level: 'breaking', when, action });
const risky = (when: string, action: string): Rule => ({ level: 'risky', when, action });
const additive = (when: string, action = nothingToDo): Rule => ({ level: 'additive', when, action });

/** The rules for all parts of a document except schemas. */
const operationRules = {
  'path-removed': breaking('A path and all its operations were removed.', 'Stop calling the path.'),
  'path-added': additive('A path was added.'),
  'operation-removed': breaking('A method of a path was removed, deprecated or not.', 'Stop calling the method.'),
  'operation-added': additive('A method was added to a path.'),
  'operation-id-changed': risky('An operation id changed.', 'Expect another function name in a regenerated client.'),
  'path-parameter-renamed': risky('A path parameter was renamed.', 'Expect another name in a regenerated client.'),
  'schema-name-removed': risky('A schema lost its name.', 'Expect another type name in a regenerated client.'),
  'discriminator-removed': risky(
    'The `discriminator` of variants was removed.',
    'Distinguish variants by their fields.',
  ),
  deprecated: additive(
    'An operation, parameter, header or field is deprecated, but still works.',
    'Plan to stop using it.',
  ),
  'deprecation-lifted': additive('An operation, parameter, header or field is no longer deprecated.'),
  'link-removed': risky('An OpenAPI link (`links`) was removed.', 'Build the next request without the link.'),

  'server-removed': breaking(
    'A server URL, or a value of a variable, was removed.',
    'Use a server URL of the new document.',
  ),
  'server-added': additive('A server URL was added, or a variable in a server URL got a value.'),
  'server-default-changed': risky('The default of a server variable changed.', 'Set the variable explicitly.'),
  'server-variable-renamed': risky('A server variable was renamed.', 'Expect another name in a regenerated client.'),

  'security-tightened': breaking('Requests need other or more credentials or scopes.', 'Send these credentials.'),
  'security-relaxed': additive('Requests need fewer credentials, or have another way to authenticate.'),
  'oauth-flow-changed': breaking('An OAuth flow or scope was removed, or a URL changed.', 'Use the new OAuth flow.'),
  'oauth-flow-added': additive('An OAuth flow or a scope was added.'),
  'grant-raised': breaking('Requests need a higher grant (`x-grant`).', 'Use API tokens with the higher grant.'),
  'grant-lowered': additive('Requests need a lower grant (`x-grant`).'),
  'bucket-changed': risky('Requests count against another rate limit (`x-bucket`).', 'Respect the new rate limit.'),
  'rate-limit-lowered': risky('The rate limit is stricter (`x-rate-limit`).', 'Send fewer requests in the same time.'),
  'rate-limit-raised': additive('The rate limit allows more requests in the same time.'),

  'parameter-removed': breaking('A query, header or cookie parameter was removed.', 'Stop sending the parameter.'),
  'parameter-required': breaking('A parameter is now required.', 'Send the parameter with every request.'),
  'parameter-added': additive('An optional parameter was added.'),
  'parameter-optional': additive('A required parameter became optional.'),
  'parameter-serialization-changed': breaking(
    'The serialization of a parameter changed.',
    'Use the new serialization.',
  ),

  'request-body-required': breaking('A request now needs a body.', 'Send a body with every request.'),
  'request-body-optional': additive('The body of a request became optional.'),
  'request-body-added': additive('A request now accepts a body.'),
  'request-body-removed': breaking('A request no longer accepts a body.', 'Stop sending a body.'),
  'request-media-type-removed': breaking('A request lost a media type.', 'Send another media type.'),
  'request-media-type-added': additive('A request accepts another media type.'),
  'encoding-changed': risky('The `encoding` of form parts changed.', 'Send form parts in the new encoding.'),

  'response-status-removed': breaking('A response status was removed.', 'Handle the status that replaces it.'),
  'response-status-added': risky('A response status was added.', 'Handle the new status, or at least its class.'),
  'response-body-removed': breaking('A response lost its body.', 'Stop reading the body of the response.'),
  'response-body-added': additive('A response got a body.'),
  'response-media-type-removed': breaking('A response lost a media type.', 'Request and parse another media type.'),
  'response-media-type-added': additive('A response got a media type, for clients that name it in `Accept`.'),
  'response-header-removed': breaking('A response header was removed.', 'Stop reading the header.'),
  'response-header-optional': breaking('A response header became optional.', 'Handle responses without the header.'),
  'response-header-required': additive('A response header is now always present.'),
  'response-header-added': additive('A response header was added.'),

  'webhook-removed': breaking('A webhook or callback was removed.', 'Find another source for its data.'),
  'webhook-added': additive('A webhook or callback was added.'),
  'webhook-body-removed': breaking('A webhook lost its body.', 'In your receiver, stop reading the body.'),
  'webhook-body-optional': breaking('The body of a webhook became optional.', 'Handle webhooks without a body.'),
  'webhook-body-added': additive('A webhook got a body.'),
  'webhook-media-type-changed': breaking('A webhook may have another media type.', 'Parse the new media type.'),
  'webhook-parameter-removed': breaking('A webhook may lack a header or parameter.', 'Handle webhooks without it.'),
  'webhook-parameter-added': additive('A header or parameter of a webhook was added, or became required.'),
  'webhook-answer-refused': breaking('A receiver may no longer send a status.', 'Send a status of the new document.'),
  'webhook-answer-added': additive('A receiver may send another status.'),
  'webhook-security-changed': breaking(
    'The authentication of a webhook changed.',
    'Check requests by the new authentication.',
  ),
} satisfies Record<string, Rule>;

/**
 * The rules for schemas of data that clients send: request bodies, parameters, and responses to a webhook. The new
 * server must accept all values that the old server accepted. Narrowing a schema therefore breaks clients, and widening
 * it does not.
 */
const requestRules = {
  'request-field-removed': breaking('A closed object schema lost a field.', 'Stop sending the field.'),
  'request-field-ignored': risky('An open object schema lost a field.', 'Stop relying on the field.'),
  'request-field-required': breaking('A field is now required.', 'Send the field with every request.'),
  'request-field-optional': additive('A required field became optional.'),
  'request-field-added': additive('An optional field was added.'),
  'request-fields-closed': breaking('Other fields are no longer accepted.', 'Send only fields of the schema.'),
  'request-fields-opened': additive('Fields that the schema does not describe are now accepted.'),

  'request-type-narrowed': breaking('A type is no longer accepted.', 'Send a type that the new schema accepts.'),
  'request-type-widened': additive('A value may have another type.'),
  'request-null-removed': breaking('A value may no longer be `null`.', 'Send another value, or omit the field.'),
  'request-null-added': additive('A value may now be `null`.'),
  'request-enum-value-removed': breaking('A listed value is no longer accepted.', 'Send one of the other values.'),
  'request-enum-value-added': additive('Another listed value is accepted.'),
  'request-enum-introduced': breaking('Only listed values are accepted now.', 'Send one of the listed values.'),
  'request-enum-dropped': additive('Any value of the type is accepted, and not only listed values.'),
  'request-bound-narrowed': breaking('A bound, such as a length, was added or tightened.', 'Obey the new bound.'),
  'request-bound-widened': additive('A bound, such as a minimum or a length, was loosened or removed.'),
  'request-pattern-changed': breaking('A `pattern` was added or changed.', 'Send values that match the new pattern.'),
  'request-pattern-removed': additive('A `pattern` was removed.'),
  'request-format-narrowed': breaking('A `format` was added, changed or narrowed.', 'Use the new format.'),
  'request-format-widened': additive('A `format` was removed or widened (`int32` to `int64`).'),

  'request-variant-removed': breaking('A variant (`oneOf`, `anyOf`) is no longer accepted.', 'Send another variant.'),
  'request-variant-added': additive('Another variant of `oneOf` or `anyOf` is accepted.'),
  'request-discriminator-changed': breaking('The `discriminator` changed.', 'Send the new field and value.'),
  'request-default-changed': breaking('The default of an omitted value changed.', 'Send the value explicitly.'),
  'request-default-added': additive('A default for an omitted value was added.'),

  'request-schema-narrowed': breaking('The schema may accept fewer values.', 'Send only values of the new schema.'),
  'request-schema-widened': additive('The new schema accepts all values of the old schema.'),
} satisfies Record<string, Rule>;

/**
 * The rules for schemas of data that clients receive: response bodies, headers, and webhooks. The new server may send
 * only values that old clients expect. Widening a schema therefore breaks clients. A change is only risky if it affects
 * just strict clients, for example a new enum value.
 */
const responseRules = {
  'response-field-removed': breaking('A field was removed.', 'Stop reading the field.'),
  'response-field-optional': breaking('A required field became optional.', 'Handle data without the field.'),
  'response-field-required': additive('A field is now always present.'),
  'response-field-added': additive('An open object schema got a field.'),
  'response-field-unannounced': risky('A closed object schema got a field.', 'Ignore unknown fields.'),
  'response-fields-opened': risky('Fields that the schema does not describe may appear.', 'Ignore unknown fields.'),
  'response-fields-closed': additive('Fields that the schema does not describe no longer appear.'),

  'response-type-widened': breaking('A value may have a new type.', 'Handle the new type.'),
  'response-type-narrowed': additive('A value no longer has one of its types.'),
  'response-null-added': breaking('A value may now be `null`.', 'Handle `null`.'),
  'response-null-removed': additive('A value can no longer be `null`.'),
  'response-enum-value-added': risky('A new listed value may appear.', 'Handle the new value, and unknown values.'),
  'response-enum-value-removed': additive('A listed value no longer appears.'),
  'response-enum-replaced': breaking('Other values replace all listed values.', 'Handle the new values.'),
  'response-enum-dropped': risky(
    'Any value of the type may appear, and not only listed values.',
    'Handle unknown values.',
  ),
  'response-enum-introduced': additive('Only listed values appear now.'),
  'error-key-removed': breaking('An error key (`error.key`) was removed.', 'Handle the error key that replaces it.'),
  'error-key-added': risky('A new error key may appear.', 'Handle the new error key, and unknown error keys.'),
  'response-bound-widened': risky(
    'A bound, such as a length, was loosened or removed.',
    'Handle values beyond the old bound.',
  ),
  'response-bound-narrowed': additive('A bound, such as a minimum or a length, was added or tightened.'),
  'response-pattern-changed': risky('A `pattern` was changed or removed.', 'Do not parse values by the old pattern.'),
  'response-pattern-added': additive('A `pattern` was added.'),
  'response-format-widened': breaking('A `format` was removed, changed or widened.', 'Parse the new format.'),
  'response-format-narrowed': additive('A `format` was added or narrowed (`int64` to `int32`).'),

  'response-variant-added': risky('Another of several variants may appear.', 'Handle new and unknown variants.'),
  'response-variant-introduced': breaking('A second variant may appear.', 'Distinguish the two variants.'),
  'response-variant-removed': additive('A variant of `oneOf` or `anyOf` no longer appears.'),
  'response-discriminator-changed': breaking(
    'The `discriminator` changed.',
    'Choose variants by the new `discriminator`.',
  ),
  'response-default-changed': risky('The default of a missing value changed.', 'Use the new default.'),
  'response-default-added': additive('A default for a missing value was added.'),

  'response-schema-widened': breaking('The schema may allow new values.', 'Handle all values of the new schema.'),
  'response-schema-narrowed': additive('The new schema allows only values of the old schema.'),
} satisfies Record<string, Rule>;

/** All rules by id. docs/openapi-diff.md lists them. The id of a removed rule is never reused. */
export const rules = { ...operationRules, ...requestRules, ...responseRules };

export type RuleId = keyof typeof rules;

export function renderRules(): string {
  return [
    table('### Operations, parameters, statuses, webhooks, security', operationRules),
    table('### Requests', requestRules),
    table('### Responses', responseRules),
  ].join('\n');
}

function table(heading: string, group: Readonly<Record<string, Rule>>): string {
  const rows = Object.entries(group).map(
    ([id, { level, when, action }]) => `| \`${id}\` | ${level} | ${when} | ${action} |`,
  );
  return `${heading}\n\n| rule | level | change | client's next step |\n|---|---|---|---|\n${rows.join('\n')}\n`;
}
