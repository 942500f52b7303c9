import { additive, breaking, type Rule, risky } from './rule.ts';

/**
 * The rules for schemas of data that clients receive: response bodies, headers, and webhooks. The new server may send
 * only values that old clients expect. Widening a schema therefore breaks clients. It is only risky if just strict
 * clients notice, for example a new enum value.
 */
export const responseRules = {
  'response-field-removed': breaking(
    'A required or optional field was removed. A client may rely on this field.',
    'Stop reading the field before the new version of the server is deployed.',
  ),
  'response-field-optional': breaking(
    'A field that was always present became optional.',
    'Handle data without the field.',
  ),
  'response-field-required': additive('A field is now always present.'),
  'response-field-added': additive('A field was added to an open schema, which allows unknown fields.'),
  'response-field-unannounced': risky(
    'A field was added to a closed schema (`additionalProperties: false`). A strict client may refuse the field.',
    'In your client, ignore unknown fields.',
  ),
  'response-fields-opened': risky(
    'Fields that the schema does not describe may appear. The old schema excluded such fields.',
    'In your client, ignore unknown fields.',
  ),
  'response-fields-closed': additive('Fields that the schema does not describe no longer appear.'),

  'response-type-widened': breaking(
    'A value may have a new type, for example because `integer` became `number`.',
    'Handle the new type.',
  ),
  'response-type-narrowed': additive('A value no longer has at least one of its old types, and has no new type.'),
  'response-null-added': breaking('A value may now be `null`.', 'Handle `null`.'),
  'response-null-removed': additive('A value can no longer be `null`.'),
  'response-enum-value-added': risky(
    'A new value of an `enum` may appear. A client that handles only the old values may fail.',
    'Handle the new value, and values that you do not know.',
  ),
  'response-enum-value-removed': additive('A value of an `enum` no longer appears.'),
  'response-enum-replaced': breaking('All values of an `enum` were replaced by others.', 'Handle the new values.'),
  'response-enum-dropped': risky(
    'The new schema allows any value of the type. The old schema allowed only listed values.',
    'Handle values that you do not know.',
  ),
  'response-enum-introduced': additive(
    'The new schema allows only listed values. The old schema allowed any value of the type.',
  ),
  'error-key-removed': breaking(
    'An error key (`error.key`) was removed. Client code that handles this error key no longer runs.',
    'Handle the error key that replaces the removed error key.',
  ),
  'error-key-added': risky(
    'A new error key may appear for a response status.',
    'Handle the new error key, and error keys that you do not know.',
  ),
  'response-bound-widened': risky(
    'A constraint on a value was loosened or removed. A client that relies on the old constraint may fail, for example because a database column of the client is too small.',
    'Allow values that the old constraint excluded.',
  ),
  'response-bound-narrowed': additive('A constraint on a value was added or tightened.'),
  'response-pattern-changed': risky(
    'A `pattern` was changed or removed. A client that parses the value by the old pattern may fail.',
    'If your client parses the value, use the new pattern.',
  ),
  'response-pattern-added': additive('A `pattern` was added.'),
  'response-format-widened': breaking(
    'A `format` or content encoding was removed, changed or widened (`int32` to `int64`). Clients parse values by their format.',
    'Parse values in the new format.',
  ),
  'response-format-narrowed': additive('A `format` was added or narrowed (`int64` to `int32`).'),

  'response-variant-added': risky(
    'An additional variant of `oneOf` or `anyOf` may appear. The old schema had several variants.',
    'Handle the new variant, and variants that you do not know.',
  ),
  'response-variant-introduced': breaking(
    'The old schema allowed a single variant of a value. The new schema allows a second variant. Old clients cannot distinguish the two variants.',
    'In your client, distinguish the two variants.',
  ),
  'response-variant-removed': additive('A variant of `oneOf` or `anyOf` no longer appears.'),
  'response-discriminator-changed': breaking(
    'The `discriminator` of variants has another field, or one of its values now selects another variant or none.',
    'In your client, choose the variant by the discriminator of the new document.',
  ),
  'response-default-changed': risky(
    'The default for a missing value changed or was removed.',
    'Use the new default for a missing value.',
  ),
  'response-default-added': additive('A default for a missing value was added.'),

  'response-schema-widened': breaking(
    'The new schema allows values that the old schema excluded, and no other rule explains why.',
    'Compare the two schemas, and handle the new values.',
  ),
  'response-schema-narrowed': additive('The new schema allows only values that the old schema allowed.'),
} satisfies Record<string, Rule>;
