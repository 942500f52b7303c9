import { nothingToDo as nothing, type Rule } from './rule.ts';

/**
 * The rules for schemas of data that clients send: request bodies, parameters, and responses to a webhook. The new
 * server must accept all values that the old server accepted. Narrowing a schema therefore breaks clients, and widening
 * it does not.
 */
export const requestRules = {
  'request-field-removed': {
    level: 'breaking',
    when: 'A field was removed from a closed schema (`additionalProperties: false`). The server refuses the field.',
    action: 'Stop sending the field.',
  },
  'request-field-ignored': {
    level: 'risky',
    when: 'A field was removed from an open schema, which allows unknown fields. The server accepts the field, but may ignore it.',
    action: 'Stop relying on the field.',
  },
  'request-field-required': {
    level: 'breaking',
    when: 'A required field was added, or an optional field became required.',
    action: 'Send the field with every request.',
  },
  'request-field-optional': { level: 'additive', when: 'A required field became optional.', action: nothing },
  'request-field-added': { level: 'additive', when: 'An optional field was added.', action: nothing },
  'request-fields-closed': {
    level: 'breaking',
    when: 'Fields that the schema does not describe are no longer accepted (`additionalProperties`).',
    action: 'Send only fields that the schema describes.',
  },
  'request-fields-opened': {
    level: 'additive',
    when: 'Fields that the schema does not describe are now accepted.',
    action: nothing,
  },

  'request-type-narrowed': {
    level: 'breaking',
    when: 'At least one type of a value is no longer accepted, for example because `number` became `integer`.',
    action: 'Send a type that the new schema accepts.',
  },
  'request-type-widened': {
    level: 'additive',
    when: 'A value may have at least one additional type, and all old types are still accepted.',
    action: nothing,
  },
  'request-null-removed': {
    level: 'breaking',
    when: 'A value may no longer be `null`.',
    action: 'Send another value instead of `null`, or omit the field if it is optional.',
  },
  'request-null-added': { level: 'additive', when: 'A value may now be `null`.', action: nothing },
  'request-enum-value-removed': {
    level: 'breaking',
    when: 'A value of an `enum` or `const` is no longer accepted.',
    action: 'Send one of the remaining values.',
  },
  'request-enum-value-added': {
    level: 'additive',
    when: 'An additional value of an `enum` is accepted.',
    action: nothing,
  },
  'request-enum-introduced': {
    level: 'breaking',
    when: 'The new schema accepts only listed values. The old schema accepted any value of the type.',
    action: 'Send one of the listed values.',
  },
  'request-enum-dropped': {
    level: 'additive',
    when: 'The new schema accepts any value of the type. The old schema accepted only listed values.',
    action: nothing,
  },
  'request-bound-narrowed': {
    level: 'breaking',
    when: 'A constraint on a value was added or tightened, such as a minimum, a maximum length, `multipleOf` or `uniqueItems`.',
    action: 'Send only values that obey the new constraint.',
  },
  'request-bound-widened': {
    level: 'additive',
    when: 'A constraint on a value was loosened or removed.',
    action: nothing,
  },
  'request-pattern-changed': {
    level: 'breaking',
    when: 'A `pattern` was added or changed. The new pattern may refuse values that the old schema accepted.',
    action: 'Send only values that match the new pattern.',
  },
  'request-pattern-removed': { level: 'additive', when: 'A `pattern` was removed.', action: nothing },
  'request-format-narrowed': {
    level: 'breaking',
    when: 'A `format` or content encoding was added, changed or narrowed (`int64` to `int32`). Servers validate the format, and generated clients choose types by the format.',
    action: 'Send only values in the new format.',
  },
  'request-format-widened': {
    level: 'additive',
    when: 'A `format` was removed or widened (`int32` to `int64`).',
    action: nothing,
  },

  'request-variant-removed': {
    level: 'breaking',
    when: 'A variant of `oneOf` or `anyOf` is no longer accepted.',
    action: 'Send one of the remaining variants.',
  },
  'request-variant-added': {
    level: 'additive',
    when: 'An additional variant of `oneOf` or `anyOf` is accepted.',
    action: nothing,
  },
  'request-discriminator-changed': {
    level: 'breaking',
    when: 'The `discriminator` of variants uses another field, or one of its values was removed or now selects another variant.',
    action: 'In each variant, send the discriminator field and value of the new document.',
  },
  'request-default-changed': {
    level: 'breaking',
    when: 'The default for an omitted value changed or was removed. A request without the value now means something else.',
    action: 'Send the value explicitly.',
  },
  'request-default-added': {
    level: 'additive',
    when: 'A default for an omitted value was added.',
    action: nothing,
  },

  'request-schema-narrowed': {
    level: 'breaking',
    when: 'The new schema may refuse a value that the old schema accepted, and no other rule explains why.',
    action: 'Compare the two schemas, and send only values that the new schema accepts.',
  },
  'request-schema-widened': {
    level: 'additive',
    when: 'The new schema accepts every value that the old schema accepted, and perhaps more values.',
    action: nothing,
  },
} as const satisfies Record<string, Rule>;
