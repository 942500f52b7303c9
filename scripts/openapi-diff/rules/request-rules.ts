import { nothingToDo as nothing, type Rule } from './rule.ts';

/**
 * Schemas of what a client sends: bodies and parameters of requests, and a receiver's answer to a webhook. The new
 * server must take whatever the old one took, so every narrowing breaks and every widening is free.
 */
export const requestRules = {
  'request-field-removed': {
    level: 'breaking',
    when: 'A field is gone, and the schema takes no other fields (`additionalProperties`): who sends it is refused.',
    action: 'Stop sending it.',
  },
  'request-field-ignored': {
    level: 'risky',
    when: 'A field is gone, and the schema takes other fields: who sends it is not refused, but it may do nothing.',
    action: 'Stop relying on it.',
  },
  'request-field-required': {
    level: 'breaking',
    when: 'A field is new and required, or was optional.',
    action: 'Send it with every request.',
  },
  'request-field-optional': { level: 'additive', when: 'A required field may be left out.', action: nothing },
  'request-field-added': { level: 'additive', when: 'There is a new optional field.', action: nothing },
  'request-fields-closed': {
    level: 'breaking',
    when: 'Fields that are not described were taken and no longer are (`additionalProperties`).',
    action: 'Send described fields only.',
  },
  'request-fields-opened': { level: 'additive', when: 'Fields that are not described are taken.', action: nothing },

  'request-type-narrowed': {
    level: 'breaking',
    when: 'A type that was taken no longer is: another type instead, or `number` now `integer`.',
    action: 'Send a type that is taken.',
  },
  'request-type-widened': { level: 'additive', when: 'One more type is taken.', action: nothing },
  'request-null-removed': {
    level: 'breaking',
    when: '`null` was taken and no longer is.',
    action: 'Leave the field out, or send a value.',
  },
  'request-null-added': { level: 'additive', when: '`null` is taken.', action: nothing },
  'request-enum-value-removed': {
    level: 'breaking',
    when: 'A value of an `enum` or `const` is no longer taken.',
    action: 'Send one of the values that are left.',
  },
  'request-enum-value-added': { level: 'additive', when: 'One more value is taken.', action: nothing },
  'request-enum-introduced': {
    level: 'breaking',
    when: 'Only listed values are taken where any was.',
    action: 'Send one of the listed values.',
  },
  'request-enum-dropped': {
    level: 'additive',
    when: 'Any value is taken where only listed ones were.',
    action: nothing,
  },
  'request-bound-narrowed': {
    level: 'breaking',
    when: 'A bound is new or tighter: of a length, a number, a count, `multipleOf` or `uniqueItems`.',
    action: 'Keep within the bound.',
  },
  'request-bound-widened': { level: 'additive', when: 'A bound is looser or gone.', action: nothing },
  'request-pattern-changed': {
    level: 'breaking',
    when: 'A `pattern` is new or another. Whether it takes all that the old one took cannot be told in general.',
    action: 'Send only what matches.',
  },
  'request-pattern-removed': { level: 'additive', when: 'A `pattern` is gone.', action: nothing },
  'request-format-narrowed': {
    level: 'breaking',
    when: 'A `format` or content encoding is new, another, or narrower (`int64` now `int32`): servers check it, and generated clients type by it.',
    action: 'Send only that format.',
  },
  'request-format-widened': { level: 'additive', when: 'A `format` is gone or wider.', action: nothing },

  'request-variant-removed': {
    level: 'breaking',
    when: 'An alternative of `oneOf` or `anyOf` is no longer taken.',
    action: 'Send another alternative.',
  },
  'request-variant-added': { level: 'additive', when: 'One more alternative is taken.', action: nothing },
  'request-discriminator-changed': {
    level: 'breaking',
    when: 'Alternatives are told apart by another field, or a value of it is gone or means another.',
    action: 'Send the field that tells them apart now.',
  },
  'request-default-changed': {
    level: 'risky',
    when: 'What is left out means something else, or no longer anything that is described.',
    action: 'Send the value that you need.',
  },
  'request-default-added': {
    level: 'additive',
    when: 'It is described what is meant when it is left out.',
    action: nothing,
  },

  'request-schema-narrowed': {
    level: 'breaking',
    when: 'The schema no longer takes all that it took, by none of the rules above, or it cannot be told that it does.',
    action: 'Compare the two schemas, and send only what the new one takes.',
  },
  'request-schema-widened': {
    level: 'additive',
    when: 'The schema takes all that it took, and maybe more.',
    action: nothing,
  },
} as const satisfies Record<string, Rule>;
