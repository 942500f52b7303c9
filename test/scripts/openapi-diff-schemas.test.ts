import { expect, test } from 'vitest';
import {
  integer,
  type Json,
  type JsonObject,
  object,
  received,
  ref,
  sent,
  string,
  testVerdicts,
  verdictsOf,
} from './openapi-pair.ts';

/** Schemas before and after a change, keyed by the name of the change. */
type Changes = Record<string, Change>;
type Change = [base: JsonObject, head: JsonObject, components?: { base: JsonObject; head: JsonObject }];

const petOf = (kind: string, fields: JsonObject = {}) => object({ 'kind!': { const: kind }, ...fields });
const [cat, dog, bird] = [petOf('cat', { lives: integer }), petOf('dog'), petOf('bird')];

const either = { type: ['string', 'integer'] };
const ab = object({ a: string, b: string });
const onlyX = { type: 'string', enum: ['x'] };
const matching = (pattern: string) => ({ type: 'string', pattern });
const withDefault = (value: string) => ({ type: 'string', default: value });
const kinds = { propertyName: 'kind' };
const list = (items: Json, others: JsonObject = {}) => ({ type: 'array', items, ...others });
const closed = (fields: JsonObject) => object(fields, { additionalProperties: false });
const field = (base: Json, head: Json): Change => [object({ a: base }), object({ a: head })];
const constrained = (base: JsonObject, keywords: JsonObject): Change => [base, { ...base, ...keywords }];
/** A change of one keyword in the schema of a string, a number or an array. */
const limited = (type: string, base: JsonObject, head: JsonObject): Change =>
  field({ type, ...base }, { type, ...head });
const alternatives = (base: JsonObject[], head: JsonObject[]): Change => [{ oneOf: base }, { oneOf: head }];
const tuple = (base: Json[], head: Json[], others: JsonObject = {}): Change => [
  { type: 'array', prefixItems: base, ...others },
  { type: 'array', prefixItems: head, ...others },
];
const map = (additionalProperties: JsonObject) => ({ type: 'object', additionalProperties });
const pattern = (...types: string[]) => ({ type: 'object', patternProperties: { '^x-': { type: types } } });
const schemas = { A: object({ 'kind!': string, a: string }), B: object({ 'kind!': string, b: string }) };
const [a, b] = [ref('A').$ref, ref('B').$ref];
const pets = (mapping: JsonObject, names = ['A', 'B']): JsonObject => ({
  oneOf: names.map(ref),
  discriminator: { ...kinds, mapping },
});
const pair = { oneOf: [cat, dog] };
const mapped = (base: JsonObject, head: JsonObject): Change => [base, head, { base: schemas, head: schemas }];

/** The changes that loosen a limit and change nothing more. */
const loosened: Changes = {
  'a longer text': limited('string', { maxLength: 5 }, { maxLength: 9 }),
  'a text of any length': limited('string', { maxLength: 5 }, {}),
  'a text that may be empty': limited('string', { minLength: 1 }, {}),
  'a smaller minimum': limited('integer', { minimum: 1 }, { minimum: 0 }),
  'an inclusive minimum in place of an exclusive one': limited('number', { exclusiveMinimum: 0 }, { minimum: 0 }),
  'a larger maximum': limited('integer', { maximum: 10 }, { maximum: 100 }),
  'no maximum': limited('integer', { maximum: 10 }, {}),
  'a finer multiple': limited('integer', { multipleOf: 4 }, { multipleOf: 2 }),
  'more items': limited('array', { maxItems: 2 }, { maxItems: 3 }),
  'an empty list': limited('array', { minItems: 1 }, {}),
  'repeated items': limited('array', { uniqueItems: true }, {}),
  'more fields': limited('object', { maxProperties: 2 }, { maxProperties: 3 }),
};

/**
 * Changes that add a keyword to a schema. The new keyword can only make the schema refuse more values. openapi-diff has
 * no separate rule for such a keyword.
 */
const newConstraints: Changes = {
  'a schema of the fields that match a pattern': constrained({ type: 'object' }, pattern('string')),
  'a schema that depends on a field': constrained({ type: 'object' }, { dependentSchemas: { a: { required: ['b'] } } }),
  'a field that depends on a field': constrained({ type: 'object' }, { dependentRequired: { a: ['b'] } }),
  'a limit of the names of fields': constrained({ type: 'object' }, { propertyNames: { maxLength: 3 } }),
  'a condition': constrained({ type: 'object' }, { if: { required: ['a'] }, else: { required: ['b'] } }),
  'a list that needs a certain item': constrained({ type: 'array' }, { contains: string }),
  'a list without further items': constrained({ type: 'array', prefixItems: [string] }, { unevaluatedItems: false }),
  'an excluded value': constrained(string, { not: { const: 'x' } }),
  'an excluded object with fields of a pattern': constrained({ type: 'object' }, { not: pattern('string') }),
};

/** The changes that add a keyword whose effect openapi-diff does not know. Such a change is never safe. */
const newUnknowns: Changes = {
  'an unknown keyword': constrained({ type: 'object' }, { futureKeyword: 1 }),
  'a dynamic reference': constrained({ type: 'object' }, { $dynamicRef: '#node' }),
  'an unevaluated field beside a condition': constrained(
    { type: 'object', if: { required: ['a'] } },
    { unevaluatedProperties: false },
  ),
};

const rows = rowsOf({
  'risky request-field-ignored / breaking response-field-removed': {
    'a removed field': [object({ 'a!': string, b: string }), object({ 'a!': string })],
    'a removed required field': [object({ 'a!': string }), object({})],
    'a removed field called constructor': [object({ constructor: string }), object({})],
    'a removed field of the items': [list(ab), list(object({ a: string }))],
  },
  'breaking request-field-removed / breaking response-field-removed': {
    'a removed field of a closed object': [closed({ a: string, b: string }), closed({ a: string })],
  },
  'breaking request-field-required, breaking request-field-removed / breaking response-field-removed, risky response-field-unannounced':
    { 'a renamed field': [closed({ 'a!': string }), closed({ 'b!': string })] },
  'additive request-field-added / additive response-field-added': {
    'a new optional field': [object({ a: string }), object({ a: string, b: string })],
  },
  'breaking request-field-required / additive response-field-added': {
    'a new required field': [object({ a: string }), object({ a: string, 'b!': string })],
    'a new required field with a default': [object({ a: string }), object({ a: string, 'b!': withDefault('x') })],
    'a new required field without a property': [object({ a: string }), object({ a: string }, { required: ['b'] })],
  },
  'additive request-field-added / risky response-field-unannounced': {
    'a new optional field in a closed object': [closed({ a: string }), closed({ a: string, b: string })],
  },
  'breaking request-field-required / additive response-field-required': {
    'an optional field that becomes required': [object({ a: string }), object({ 'a!': string })],
  },
  'additive request-field-optional / breaking response-field-optional': {
    'a required field that becomes optional': [object({ 'a!': string }), object({ a: string })],
  },
  'breaking request-fields-closed / additive response-fields-closed': {
    'additional fields that become forbidden': [object({ a: string }), closed({ a: string })],
  },
  'additive request-fields-opened / risky response-fields-opened': {
    'additional fields that become allowed': [closed({ a: string }), object({ a: string })],
  },
  'additive request-type-widened / breaking response-type-widened': {
    'another type of the values of a map': [map(integer), map({ type: 'number' })],
    'an additional type': field(string, either),
    'an integer that becomes a number': field(integer, { type: 'number' }),
    'any type in place of one type': field(string, {}),
    'a new alternative of another type': [{ anyOf: [cat, dog] }, { anyOf: [cat, dog, string] }],
  },
  'breaking request-type-narrowed, additive request-field-added / breaking response-type-widened, additive response-field-added':
    {
      'a map field that gets its own property with another type': [
        map(integer),
        object({ total: string }, map(integer)),
      ],
    },
  'breaking request-field-removed / no change': {
    'a field that becomes readOnly': [ab, object({ a: string, b: { ...string, readOnly: true } })],
  },
  'no change / breaking response-field-removed': {
    'a field that becomes writeOnly': [ab, object({ a: string, b: { ...string, writeOnly: true } })],
  },
  'no change / additive response-field-added': {
    'a new required readOnly field': [object({}), object({ 'a!': { ...string, readOnly: true } })],
  },
  'breaking request-type-narrowed / breaking response-type-widened': {
    'another type of a field': field(string, integer),
    'another type of the items': [list(string), list(integer)],
    'another type of a tuple item': tuple([string, integer], [string, string]),
    'another type of a field of one alternative': alternatives([cat, dog], [dog, petOf('cat', { lives: string })]),
  },
  'breaking request-type-narrowed / additive response-type-narrowed': {
    'a removed type': field(either, string),
    'a number that becomes an integer': field({ type: 'number' }, integer),
    'one type in place of any type': field(true, string),
  },
  'additive request-null-added / breaking response-null-added': {
    'null as an additional type': field(string, { type: ['string', 'null'] }),
    'null as an additional alternative': field(ab, { anyOf: [ab, { type: 'null' }] }),
    'null as an additional value': field(onlyX, { type: ['string', 'null'], enum: ['x', null] }),
    'another type of the fields of a pattern': [pattern('string'), pattern('string', 'null')],
  },
  'breaking request-null-removed / additive response-null-removed': {
    'null that is no longer allowed': field({ type: ['string', 'null'] }, string),
  },
  'breaking request-enum-value-removed / additive response-enum-value-removed': {
    'a value that is removed from a list of values': field({ enum: ['x', 'y'] }, { enum: ['x'] }),
  },
  'additive request-enum-value-added / risky response-enum-value-added': {
    'a value that is added to a list of values': field({ enum: ['x'] }, { enum: ['x', 'y'] }),
    'a constant that becomes one of two values': field({ const: 'x' }, { enum: ['x', 'y'] }),
    'a value of another type that is added to a list of values': field({ enum: ['x', 1] }, { enum: ['x', 1, true] }),
  },
  'breaking request-enum-value-removed, additive request-enum-value-added / breaking response-enum-replaced': {
    'a changed constant': field({ const: 'x' }, { const: 'y' }),
  },
  'breaking request-enum-introduced / additive response-enum-introduced': {
    'a list of values in place of any value': field(string, onlyX),
  },
  'additive request-enum-dropped / risky response-enum-dropped': {
    'any value in place of a list of values': field(onlyX, string),
  },
  'breaking request-pattern-changed / additive response-pattern-added': {
    'a new pattern': field(string, matching('^x')),
  },
  'breaking request-pattern-changed / risky response-pattern-changed': {
    'a changed pattern': field(matching('^x'), matching('^y')),
  },
  'additive request-pattern-removed / risky response-pattern-changed': {
    'a removed pattern': field(matching('^x'), string),
  },
  'breaking request-format-narrowed / additive response-format-narrowed': {
    'a new format': field(string, { type: 'string', format: 'uuid' }),
    'an int64 that becomes an int32': limited('integer', { format: 'int64' }, { format: 'int32' }),
  },
  'additive request-format-widened / breaking response-format-widened': {
    'a removed format': field({ type: 'string', format: 'date-time' }, string),
    'an int32 that becomes an int64': limited('integer', { format: 'int32' }, { format: 'int64' }),
  },
  'breaking request-format-narrowed / breaking response-format-widened': {
    'a changed format': limited('string', { format: 'date-time' }, { format: 'date' }),
    'a changed encoding of a text': limited('string', { contentEncoding: 'base64' }, { contentEncoding: 'base32' }),
  },
  'additive request-schema-widened / breaking response-schema-widened': {
    ...undone(newConstraints),
    'an additional item of a closed tuple': tuple([string], [string, integer], { items: false }),
    'a removed `not`': field({ ...either, not: string }, either),
    'a first pattern of fields in a closed object': [closed({}), { ...pattern('string'), ...closed({}) }],
  },
  'additive request-variant-added / risky response-variant-added': {
    'a new alternative in addition to several others': alternatives([cat, dog], [cat, dog, bird]),
  },
  'additive request-variant-added / breaking response-variant-introduced': {
    'a new alternative in addition to one other': [cat, { oneOf: [cat, dog] }],
    'a new alternative that may match together with the other': [ab, { oneOf: [ab, object({ 'c!': string })] }],
  },
  'breaking request-variant-removed / additive response-variant-removed': {
    'a removed alternative': alternatives([cat, dog, bird], [bird, cat]),
    'a removed discriminator with only one remaining alternative': [
      { ...pair, discriminator: kinds },
      { oneOf: [cat] },
    ],
  },
  'breaking request-discriminator-changed / breaking response-discriminator-changed': {
    'alternatives with another discriminator field': [
      { ...pair, discriminator: kinds },
      { ...pair, discriminator: { propertyName: 'type' } },
    ],
    'a changed discriminator of a base schema': mapped(
      { type: 'object', discriminator: { propertyName: 'kind', mapping: { a } } },
      { type: 'object', discriminator: { propertyName: 'type', mapping: { a } } },
    ),
  },
  'breaking request-discriminator-changed / no change': {
    'a removed discriminator value': mapped(pets({ a, b, old: b }), pets({ a, b })),
    'a mapping that replaces the implicit schema name': mapped(pets({ a }), pets({ a, b })),
  },
  [twice('breaking request-discriminator-changed / breaking response-discriminator-changed')]: {
    'two discriminator values that swap their schemas': mapped(pets({ a, b }), pets({ a: b, b: a })),
  },
  'risky discriminator-removed / risky discriminator-removed': {
    'alternatives without their former discriminator': [{ ...pair, discriminator: kinds }, pair],
  },
  'breaking request-default-changed / risky response-default-changed': {
    'a changed default': field(withDefault('x'), withDefault('y')),
    'a removed default': field(withDefault('x'), string),
  },
  'no change / no change': {
    'a changed default of a required field, which is never missing,': [
      object({ 'a!': withDefault('x') }),
      object({ 'a!': withDefault('y') }),
    ],
    'a mapping by reference in place of names': mapped(pets({ a, b }), pets({ a: 'A', b: 'B' }, ['B', 'A'])),
  },
  'additive request-default-added / additive response-default-added': {
    'a new default': field(string, withDefault('x')),
  },
  'additive deprecated / additive deprecated': {
    'a newly deprecated field': field(string, { type: 'string', deprecated: true }),
  },
  'additive deprecation-lifted / additive deprecation-lifted': {
    'a field that is no longer deprecated': field({ type: 'string', deprecated: true }, string),
  },
  'breaking request-schema-narrowed / additive response-schema-narrowed': {
    ...newConstraints,
    'the new keyword `not`, which has no rule of its own': field(either, { ...either, not: string }),
    'a field that another field requires': [ab, object({ a: string, b: string }, { dependentRequired: { a: ['b'] } })],
  },
  'breaking request-schema-narrowed / breaking response-schema-widened': {
    ...newUnknowns,
    ...undone(newUnknowns),
    'a changed keyword that the diff cannot judge': [{ $dynamicRef: '#a' }, { $dynamicRef: '#b' }],
  },
  'breaking request-schema-narrowed, additive request-enum-dropped / risky response-enum-dropped': {
    'a maximum length in place of a list of longer values': limited(
      'string',
      { enum: ['long', 'longer'] },
      { maxLength: 3 },
    ),
  },
  'breaking request-schema-narrowed, risky request-field-ignored, additive request-enum-dropped / breaking response-field-removed, risky response-enum-dropped':
    {
      'a maximum length in place of a list of longer values, and a removed field': [
        object({ a: { type: 'string', enum: ['long', 'longer'] }, b: string }),
        object({ a: { type: 'string', maxLength: 3 } }),
      ],
    },
  'no change / breaking response-schema-widened': {
    'the removal of a required field that the schema also forbids': [
      { required: ['a'], allOf: [closed({})] },
      closed({}),
    ],
  },
  'additive request-bound-widened / risky response-bound-widened': loosened,
  'breaking request-bound-narrowed / additive response-bound-narrowed': undone(loosened),
});

/**
 * Returns a row for each change, with its verdict in requests and its verdict in responses. A slash separates the two
 * verdicts in the key of a group.
 */
function rowsOf(groups: Record<string, Changes>) {
  return Object.entries(groups).flatMap(([verdicts, changes]) => {
    const [whenSent = '', whenReceived = ''] = verdicts.split(' / ');
    return Object.entries(changes).map(([name, pair]) => [name, whenSent, whenReceived, pair] as const);
  });
}

/** Writes each verdict twice, for a change that openapi-diff reports twice. */
function twice(verdicts: string): string {
  return verdicts.replace(/[^/ ]+ [^/ ]+/g, verdict => `${verdict}, ${verdict}`);
}

function undone(changes: Changes): Changes {
  return Object.fromEntries(
    Object.entries(changes).map(([name, [base, head]]) => [`the opposite of ${name}`, [head, base]]),
  );
}

test.each(rows)(
  'openapi-diff reports the schema change "%s" as %s in a request and as %s in a response',
  (_, whenSent, whenReceived, pair) => {
    expect(verdictsOf(sent(...pair))).toBe(whenSent);
    expect(verdictsOf(received(...pair))).toBe(whenReceived);
  },
);

const errorBody = (...keys: string[]) => object({ 'error!': object({ 'key!': { type: 'string', enum: keys } }) });
const refused = (had: string[], has: string[], status = 422) =>
  received(errorBody(...had), errorBody(...has), {}, status);
testVerdicts({
  'breaking error-key-removed': { 'a removed error key': refused(['a', 'b'], ['a']) },
  'risky error-key-added': { 'a new error key': refused(['a'], ['a', 'b']) },
  'breaking error-key-removed, risky error-key-added': { 'a replaced only error key': refused(['a'], ['b']) },
  'additive response-enum-value-removed': { 'a removed key in a success response': refused(['a', 'b'], ['a'], 200) },
});
