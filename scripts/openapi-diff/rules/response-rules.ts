import { nothingToDo as nothing, type Rule } from './rule.ts';

/**
 * Schemas of what a client receives: bodies and headers of answers, and the webhooks that it is sent. The new server
 * may only send what an old client expects, so it is widenings that break. Those that only a client with a closed view
 * of the future notices, such as a new value of an enum, are risky.
 */
export const responseRules = {
  'response-field-removed': {
    level: 'breaking',
    when: 'A field is gone, also an optional one: a client was made for it.',
    action: 'Stop reading it before this version is deployed.',
  },
  'response-field-optional': {
    level: 'breaking',
    when: 'A field that was always there may be missing.',
    action: 'Do without it where it is missing.',
  },
  'response-field-required': { level: 'additive', when: 'A field is now always there.', action: nothing },
  'response-field-added': {
    level: 'additive',
    when: 'There is a new field, where fields that are not described were to be expected.',
    action: nothing,
  },
  'response-field-unannounced': {
    level: 'risky',
    when: 'There is a new field, where the old schema said that there is no other (`additionalProperties: false`).',
    action: 'Ignore fields that you do not know.',
  },
  'response-fields-opened': {
    level: 'risky',
    when: 'Fields may come that are not described, where the old schema said that there are none.',
    action: 'Ignore fields that you do not know.',
  },
  'response-fields-closed': { level: 'additive', when: 'No fields come that are not described.', action: nothing },

  'response-type-widened': {
    level: 'breaking',
    when: 'A type may come that did not: another type instead, one more, or `integer` now `number`.',
    action: 'Handle that type.',
  },
  'response-type-narrowed': { level: 'additive', when: 'A type no longer comes.', action: nothing },
  'response-null-added': { level: 'breaking', when: '`null` may come where it did not.', action: 'Handle null.' },
  'response-null-removed': { level: 'additive', when: '`null` no longer comes.', action: nothing },
  'response-enum-value-added': {
    level: 'risky',
    when: 'A value may come that was not listed: code without a case for the rest fails.',
    action: 'Handle it, and values that you do not know.',
  },
  'response-enum-value-removed': { level: 'additive', when: 'A value no longer comes.', action: nothing },
  'response-enum-replaced': {
    level: 'breaking',
    when: 'None of the values that came before comes any more.',
    action: 'Handle the new values.',
  },
  'response-enum-dropped': {
    level: 'risky',
    when: 'Any value may come where only listed ones did.',
    action: 'Handle values that you do not know.',
  },
  'response-enum-introduced': { level: 'additive', when: 'Only listed values come where any did.', action: nothing },
  'error-key-removed': {
    level: 'breaking',
    when: 'An error is no longer told by its key (`error.key`), on which clients rely: code that acts on it no longer runs.',
    action: 'Handle what is answered instead.',
  },
  'error-key-added': {
    level: 'risky',
    when: 'An error key may come that was not listed for this status.',
    action: 'Handle it, and keys that you do not know.',
  },
  'response-bound-widened': {
    level: 'risky',
    when: 'A bound is looser or gone: a client that relied on it, as a column of a table does, may fail.',
    action: 'Make room for what may come.',
  },
  'response-bound-narrowed': { level: 'additive', when: 'A bound is new or tighter.', action: nothing },
  'response-pattern-changed': {
    level: 'risky',
    when: 'A `pattern` is another or gone: a client that takes the value apart by it may fail.',
    action: 'Take the value apart in the new way, or not at all.',
  },
  'response-pattern-added': { level: 'additive', when: 'A `pattern` is new.', action: nothing },
  'response-format-widened': {
    level: 'breaking',
    when: 'A `format` or content encoding is gone, another, or wider (`int32` now `int64`): clients parse by it.',
    action: 'Parse what comes now.',
  },
  'response-format-narrowed': { level: 'additive', when: 'A `format` is new or narrower.', action: nothing },

  'response-variant-added': {
    level: 'risky',
    when: 'One more alternative of `oneOf` or `anyOf` may come, where there were several.',
    action: 'Handle it, and alternatives that you do not know.',
  },
  'response-variant-introduced': {
    level: 'breaking',
    when: 'A second alternative may come, where there was only one: no client tells them apart.',
    action: 'Tell the alternatives apart.',
  },
  'response-variant-removed': { level: 'additive', when: 'An alternative no longer comes.', action: nothing },
  'response-discriminator-changed': {
    level: 'breaking',
    when: 'Alternatives are told apart by another field, or a value of it means another.',
    action: 'Tell them apart by that field.',
  },
  'response-default-changed': {
    level: 'risky',
    when: 'What is missing means something else, or no longer anything that is described.',
    action: 'Take the new default where the value is missing.',
  },
  'response-default-added': {
    level: 'additive',
    when: 'It is described what is meant when it is missing.',
    action: nothing,
  },

  'response-schema-widened': {
    level: 'breaking',
    when: 'More may come than the old schema allowed, by none of the rules above, or it cannot be told that it does not.',
    action: 'Compare the two schemas, and handle what the new one allows.',
  },
  'response-schema-narrowed': {
    level: 'additive',
    when: 'Nothing comes that the old schema did not allow.',
    action: nothing,
  },
} as const satisfies Record<string, Rule>;
