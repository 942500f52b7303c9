import { nothingToDo as nothing, type Rule } from './rule.ts';

/**
 * Rules for schemas of received data: response bodies and headers, and webhooks. The new server may only send values
 * that an old client expects. So widening breaks clients. If only a strict client notices, such as with a new enum
 * value, it is risky.
 */
export const responseRules = {
  'response-field-removed': {
    level: 'breaking',
    when: 'A field was removed, even an optional one. A client may rely on it.',
    action: 'Stop reading it before this version is deployed.',
  },
  'response-field-optional': {
    level: 'breaking',
    when: 'A field became optional.',
    action: 'Handle its absence.',
  },
  'response-field-required': { level: 'additive', when: 'A field is now always present.', action: nothing },
  'response-field-added': {
    level: 'additive',
    when: 'A field was added to an open schema.',
    action: nothing,
  },
  'response-field-unannounced': {
    level: 'risky',
    when: 'A field was added to a closed schema (`additionalProperties: false`).',
    action: 'Ignore fields that you do not know.',
  },
  'response-fields-opened': {
    level: 'risky',
    when: 'Undescribed fields may appear. The old schema excluded them.',
    action: 'Ignore fields that you do not know.',
  },
  'response-fields-closed': { level: 'additive', when: 'Undescribed fields no longer appear.', action: nothing },

  'response-type-widened': {
    level: 'breaking',
    when: 'A new type may appear, for example `integer` became `number`.',
    action: 'Handle the new type.',
  },
  'response-type-narrowed': { level: 'additive', when: 'A type no longer appears.', action: nothing },
  'response-null-added': { level: 'breaking', when: '`null` may now appear.', action: 'Handle null.' },
  'response-null-removed': { level: 'additive', when: '`null` no longer appears.', action: nothing },
  'response-enum-value-added': {
    level: 'risky',
    when: 'A new value may appear. Code without a default case fails.',
    action: 'Handle it, and values that you do not know.',
  },
  'response-enum-value-removed': { level: 'additive', when: 'A value no longer appears.', action: nothing },
  'response-enum-replaced': {
    level: 'breaking',
    when: 'The old values were replaced by others.',
    action: 'Handle the new values.',
  },
  'response-enum-dropped': {
    level: 'risky',
    when: 'Any value may appear. Before, only listed ones did.',
    action: 'Handle values that you do not know.',
  },
  'response-enum-introduced': {
    level: 'additive',
    when: 'Only listed values appear. Before, any value did.',
    action: nothing,
  },
  'error-key-removed': {
    level: 'breaking',
    when: 'An error key (`error.key`) was removed. Client code for this key no longer runs.',
    action: 'Handle its replacement.',
  },
  'error-key-added': {
    level: 'risky',
    when: 'A new error key may appear for this status.',
    action: 'Handle it, and keys that you do not know.',
  },
  'response-bound-widened': {
    level: 'risky',
    when: 'A bound was loosened or removed. A client that relies on it, such as for a database column, may fail.',
    action: 'Allow larger values.',
  },
  'response-bound-narrowed': { level: 'additive', when: 'A bound was added or tightened.', action: nothing },
  'response-pattern-changed': {
    level: 'risky',
    when: 'A `pattern` was changed or removed. A client that parses the value by it may fail.',
    action: 'Parse the value by the new pattern, or not at all.',
  },
  'response-pattern-added': { level: 'additive', when: 'A `pattern` was added.', action: nothing },
  'response-format-widened': {
    level: 'breaking',
    when: 'A `format` or content encoding was removed, changed or widened (`int32` to `int64`). Clients parse by it.',
    action: 'Parse the new format.',
  },
  'response-format-narrowed': { level: 'additive', when: 'A `format` was added or narrowed.', action: nothing },

  'response-variant-added': {
    level: 'risky',
    when: 'Another variant of `oneOf` or `anyOf` may appear, beside several old ones.',
    action: 'Handle it, and unknown variants.',
  },
  'response-variant-introduced': {
    level: 'breaking',
    when: 'A second variant may appear. Old clients cannot distinguish the two.',
    action: 'Distinguish the variants.',
  },
  'response-variant-removed': { level: 'additive', when: 'A variant no longer appears.', action: nothing },
  'response-discriminator-changed': {
    level: 'breaking',
    when: 'The discriminator of the variants changed, or one of its values means another variant.',
    action: 'Use the new discriminator.',
  },
  'response-default-changed': {
    level: 'risky',
    when: 'The default of a missing value changed or was removed.',
    action: 'Use the new default.',
  },
  'response-default-added': {
    level: 'additive',
    when: 'A default for a missing value was added.',
    action: nothing,
  },

  'response-schema-widened': {
    level: 'breaking',
    when: 'Values may appear that the old schema excluded, and no rule above explains why.',
    action: 'Compare the two schemas, and handle the new values.',
  },
  'response-schema-narrowed': {
    level: 'additive',
    when: 'Only values of the old schema appear.',
    action: nothing,
  },
} as const satisfies Record<string, Rule>;
