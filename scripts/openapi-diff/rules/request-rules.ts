import { additive, breaking, type Rule, risky } from './rule.ts';

/**
 * The rules for schemas of data that clients send: request bodies, parameters, and responses to a webhook. The new
 * server must accept all values that the old server accepted. Narrowing a schema therefore breaks clients, and widening
 * it does not.
 */
export const requestRules = {
  'request-field-removed': breaking(
    'A field was removed from a closed schema (`additionalProperties: false`). The server refuses the field.',
    'Stop sending the field.',
  ),
  'request-field-ignored': risky(
    'A field was removed from an open schema, which allows unknown fields. The server accepts the field, but may ignore it.',
    'Stop relying on the field.',
  ),
  'request-field-required': breaking(
    'A required field was added, or an optional field became required.',
    'Send the field with every request.',
  ),
  'request-field-optional': additive('A required field became optional.'),
  'request-field-added': additive('An optional field was added.'),
  'request-fields-closed': breaking(
    'Fields that the schema does not describe are no longer accepted (`additionalProperties`).',
    'Send only fields that the schema describes.',
  ),
  'request-fields-opened': additive('Fields that the schema does not describe are now accepted.'),

  'request-type-narrowed': breaking(
    'At least one type of a value is no longer accepted, for example because `number` became `integer`.',
    'Send a type that the new schema accepts.',
  ),
  'request-type-widened': additive(
    'A value may have at least one additional type, and all old types are still accepted.',
  ),
  'request-null-removed': breaking(
    'A value may no longer be `null`.',
    'Send another value instead of `null`, or omit the field if it is optional.',
  ),
  'request-null-added': additive('A value may now be `null`.'),
  'request-enum-value-removed': breaking(
    'A value of an `enum` or `const` is no longer accepted.',
    'Send one of the remaining values.',
  ),
  'request-enum-value-added': additive('An additional value of an `enum` is accepted.'),
  'request-enum-introduced': breaking(
    'The new schema accepts only listed values. The old schema accepted any value of the type.',
    'Send one of the listed values.',
  ),
  'request-enum-dropped': additive(
    'The new schema accepts any value of the type. The old schema accepted only listed values.',
  ),
  'request-bound-narrowed': breaking(
    'A constraint on a value was added or tightened, such as a minimum, a maximum length, `multipleOf` or `uniqueItems`.',
    'Send only values that obey the new constraint.',
  ),
  'request-bound-widened': additive('A constraint on a value was loosened or removed.'),
  'request-pattern-changed': breaking(
    'A `pattern` was added or changed. The new pattern may refuse values that the old schema accepted.',
    'Send only values that match the new pattern.',
  ),
  'request-pattern-removed': additive('A `pattern` was removed.'),
  'request-format-narrowed': breaking(
    'A `format` or content encoding was added, changed or narrowed (`int64` to `int32`). Servers validate the format, and generated clients choose types by the format.',
    'Send only values in the new format.',
  ),
  'request-format-widened': additive('A `format` was removed or widened (`int32` to `int64`).'),

  'request-variant-removed': breaking(
    'A variant of `oneOf` or `anyOf` is no longer accepted.',
    'Send one of the remaining variants.',
  ),
  'request-variant-added': additive('An additional variant of `oneOf` or `anyOf` is accepted.'),
  'request-discriminator-changed': breaking(
    'The `discriminator` of variants uses another field, or one of its values was removed or now selects another variant.',
    'In each variant, send the discriminator field and value of the new document.',
  ),
  'request-default-changed': breaking(
    'The default for an omitted value changed or was removed. A request without the value now means something else.',
    'Send the value explicitly.',
  ),
  'request-default-added': additive('A default for an omitted value was added.'),

  'request-schema-narrowed': breaking(
    'The new schema may refuse a value that the old schema accepted, and no other rule explains why.',
    'Compare the two schemas, and send only values that the new schema accepts.',
  ),
  'request-schema-widened': additive(
    'The new schema accepts every value that the old schema accepted, and perhaps more values.',
  ),
} satisfies Record<string, Rule>;
