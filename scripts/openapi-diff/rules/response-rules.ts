import { nothingToDo as nothing, type Rule } from './rule.ts';

/**
 * The rules for schemas of data that clients receive: response bodies, headers, and webhooks. The new server may send
 * only values that old clients expect. Widening a schema therefore breaks clients. It is only risky if just strict
 * clients notice, for example a new enum value.
 */
export const responseRules = {
  'response-field-removed': {
    level: 'breaking',
    when: 'A required or optional field was removed. A client may rely on this field.',
    action: 'Stop reading the field before the new version of the server is deployed.',
  },
  'response-field-optional': {
    level: 'breaking',
    when: 'A field that was always present became optional.',
    action: 'Handle data without the field.',
  },
  'response-field-required': { level: 'additive', when: 'A field is now always present.', action: nothing },
  'response-field-added': {
    level: 'additive',
    when: 'A field was added to an open schema, which allows unknown fields.',
    action: nothing,
  },
  'response-field-unannounced': {
    level: 'risky',
    when: 'A field was added to a closed schema (`additionalProperties: false`). A strict client may refuse the field.',
    action: 'In your client, ignore unknown fields.',
  },
  'response-fields-opened': {
    level: 'risky',
    when: 'Fields that the schema does not describe may appear. The old schema excluded such fields.',
    action: 'In your client, ignore unknown fields.',
  },
  'response-fields-closed': {
    level: 'additive',
    when: 'Fields that the schema does not describe no longer appear.',
    action: nothing,
  },

  'response-type-widened': {
    level: 'breaking',
    when: 'A value may have a new type, for example because `integer` became `number`.',
    action: 'Handle the new type.',
  },
  'response-type-narrowed': {
    level: 'additive',
    when: 'A value no longer has at least one of its old types, and has no new type.',
    action: nothing,
  },
  'response-null-added': { level: 'breaking', when: 'A value may now be `null`.', action: 'Handle `null`.' },
  'response-null-removed': { level: 'additive', when: 'A value can no longer be `null`.', action: nothing },
  'response-enum-value-added': {
    level: 'risky',
    when: 'A new value of an `enum` may appear. A client that handles only the old values may fail.',
    action: 'Handle the new value, and values that you do not know.',
  },
  'response-enum-value-removed': {
    level: 'additive',
    when: 'A value of an `enum` no longer appears.',
    action: nothing,
  },
  'response-enum-replaced': {
    level: 'breaking',
    when: 'All values of an `enum` were replaced by others.',
    action: 'Handle the new values.',
  },
  'response-enum-dropped': {
    level: 'risky',
    when: 'The new schema allows any value of the type. The old schema allowed only listed values.',
    action: 'Handle values that you do not know.',
  },
  'response-enum-introduced': {
    level: 'additive',
    when: 'The new schema allows only listed values. The old schema allowed any value of the type.',
    action: nothing,
  },
  'error-key-removed': {
    level: 'breaking',
    when: 'An error key (`error.key`) was removed. Client code that handles this error key no longer runs.',
    action: 'Handle the error key that replaces the removed error key.',
  },
  'error-key-added': {
    level: 'risky',
    when: 'A new error key may appear for a response status.',
    action: 'Handle the new error key, and error keys that you do not know.',
  },
  'response-bound-widened': {
    level: 'risky',
    when: 'A constraint on a value was loosened or removed. A client that relies on the old constraint may fail, for example because a database column of the client is too small.',
    action: 'Allow values that the old constraint excluded.',
  },
  'response-bound-narrowed': {
    level: 'additive',
    when: 'A constraint on a value was added or tightened.',
    action: nothing,
  },
  'response-pattern-changed': {
    level: 'risky',
    when: 'A `pattern` was changed or removed. A client that parses the value by the old pattern may fail.',
    action: 'If your client parses the value, use the new pattern.',
  },
  'response-pattern-added': { level: 'additive', when: 'A `pattern` was added.', action: nothing },
  'response-format-widened': {
    level: 'breaking',
    when: 'A `format` or content encoding was removed, changed or widened (`int32` to `int64`). Clients parse values by their format.',
    action: 'Parse values in the new format.',
  },
  'response-format-narrowed': {
    level: 'additive',
    when: 'A `format` was added or narrowed (`int64` to `int32`).',
    action: nothing,
  },

  'response-variant-added': {
    level: 'risky',
    when: 'An additional variant of `oneOf` or `anyOf` may appear. The old schema had several variants.',
    action: 'Handle the new variant, and variants that you do not know.',
  },
  'response-variant-introduced': {
    level: 'breaking',
    when: 'The old schema allowed a single variant of a value. The new schema allows a second variant. Old clients cannot distinguish the two variants.',
    action: 'In your client, distinguish the two variants.',
  },
  'response-variant-removed': {
    level: 'additive',
    when: 'A variant of `oneOf` or `anyOf` no longer appears.',
    action: nothing,
  },
  'response-discriminator-changed': {
    level: 'breaking',
    when: 'The `discriminator` of variants has another field, or one of its values now selects another variant or none.',
    action: 'In your client, choose the variant by the discriminator of the new document.',
  },
  'response-default-changed': {
    level: 'risky',
    when: 'The default for a missing value changed or was removed.',
    action: 'Use the new default for a missing value.',
  },
  'response-default-added': {
    level: 'additive',
    when: 'A default for a missing value was added.',
    action: nothing,
  },

  'response-schema-widened': {
    level: 'breaking',
    when: 'The new schema allows values that the old schema excluded, and no other rule explains why.',
    action: 'Compare the two schemas, and handle the new values.',
  },
  'response-schema-narrowed': {
    level: 'additive',
    when: 'The new schema allows only values that the old schema allowed.',
    action: nothing,
  },
} as const satisfies Record<string, Rule>;
