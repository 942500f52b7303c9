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
    when: 'A field was removed from an open schema. The server accepts the field, but may ignore it.',
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
    when: 'A type of a value is no longer accepted, for example because `number` became `integer`.',
    action: 'Send an accepted type.',
  },
  'request-type-widened': { level: 'additive', when: 'Another type of a value is accepted.', action: nothing },
  'request-null-removed': {
    level: 'breaking',
    when: '`null` is no longer accepted.',
    action: 'Send a value instead of `null`, or omit the field.',
  },
  'request-null-added': { level: 'additive', when: '`null` is now accepted.', action: nothing },
  'request-enum-value-removed': {
    level: 'breaking',
    when: 'A value of an `enum` or `const` is no longer accepted.',
    action: 'Send one of the remaining values.',
  },
  'request-enum-value-added': { level: 'additive', when: 'Another value of an `enum` is accepted.', action: nothing },
  'request-enum-introduced': {
    level: 'breaking',
    when: 'Only listed values are accepted. The old schema accepted any value.',
    action: 'Send one of the listed values.',
  },
  'request-enum-dropped': {
    level: 'additive',
    when: 'Any value is accepted. The old schema accepted only listed values.',
    action: nothing,
  },
  'request-bound-narrowed': {
    level: 'breaking',
    when: 'A limit of a value was added or tightened: a length, a number, a count, `multipleOf` or `uniqueItems`.',
    action: 'Send only values within the new limit.',
  },
  'request-bound-widened': { level: 'additive', when: 'A limit of a value was loosened or removed.', action: nothing },
  'request-pattern-changed': {
    level: 'breaking',
    when: 'A `pattern` was added or changed. The new pattern may refuse old values.',
    action: 'Send only values that match the new pattern.',
  },
  'request-pattern-removed': { level: 'additive', when: 'A `pattern` was removed.', action: nothing },
  'request-format-narrowed': {
    level: 'breaking',
    when: 'A `format` or content encoding was added, changed or narrowed (`int64` to `int32`). Servers validate the format, and generated clients choose types by it.',
    action: 'Send only values in the new format.',
  },
  'request-format-widened': { level: 'additive', when: 'A `format` was removed or widened.', action: nothing },

  'request-variant-removed': {
    level: 'breaking',
    when: 'A variant of `oneOf` or `anyOf` is no longer accepted.',
    action: 'Send another variant.',
  },
  'request-variant-added': {
    level: 'additive',
    when: 'Another variant of `oneOf` or `anyOf` is accepted.',
    action: nothing,
  },
  'request-discriminator-changed': {
    level: 'breaking',
    when: 'The discriminator of the variants changed, or one of its values was removed or means another variant.',
    action: 'Send the new discriminator with each variant.',
  },
  'request-default-changed': {
    level: 'risky',
    when: 'The default of an omitted value changed or was removed.',
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
    when: 'The new schema accepts every value of the old schema, and perhaps more.',
    action: nothing,
  },
} as const satisfies Record<string, Rule>;
