import { describe, expect, test } from 'vitest';
import { type JsonObject, object, type Pair, received, sent, verdictOf } from './openapi-pair.ts';

/** What happened to a schema, before and after, and what that means where a client sends it and where it receives it. */
type Row = [name: string, base: JsonObject, head: JsonObject, whenSent: string[], whenReceived: string[]];

const string = { type: 'string' };
const integer = { type: 'integer' };
const cat = object({ 'kind!': { const: 'cat' }, lives: integer });
const dog = object({ 'kind!': { const: 'dog' } });
const bird = object({ 'kind!': { const: 'bird' } });

const rows: Row[] = [
  [
    'a field that is gone',
    object({ 'a!': string, b: string }),
    object({ 'a!': string }),
    ['risky request-field-ignored'],
    ['breaking response-field-removed'],
  ],
  [
    'a required field that is gone',
    object({ 'a!': string }),
    object({}),
    ['risky request-field-ignored'],
    ['breaking response-field-removed'],
  ],
  [
    'a field that is gone from a closed object',
    object({ a: string, b: string }, { additionalProperties: false }),
    object({ a: string }, { additionalProperties: false }),
    ['breaking request-field-removed'],
    ['breaking response-field-removed'],
  ],
  [
    'a field that is renamed',
    object({ 'a!': string }, { additionalProperties: false }),
    object({ 'b!': string }, { additionalProperties: false }),
    ['breaking request-field-required', 'breaking request-field-removed'],
    ['breaking response-field-removed', 'risky response-field-unannounced'],
  ],
  [
    'a new optional field',
    object({ a: string }),
    object({ a: string, b: string }),
    ['additive request-field-added'],
    ['additive response-field-added'],
  ],
  [
    'a new required field',
    object({ a: string }),
    object({ a: string, 'b!': string }),
    ['breaking request-field-required'],
    ['additive response-field-added'],
  ],
  [
    'a new required field with a default',
    object({ a: string }),
    object({ a: string, 'b!': { type: 'string', default: 'x' } }),
    ['breaking request-field-required'],
    ['additive response-field-added'],
  ],
  [
    'a new optional field in a closed object',
    object({ a: string }, { additionalProperties: false }),
    object({ a: string, b: string }, { additionalProperties: false }),
    ['additive request-field-added'],
    ['risky response-field-unannounced'],
  ],
  [
    'an optional field that is now required',
    object({ a: string }),
    object({ 'a!': string }),
    ['breaking request-field-required'],
    ['additive response-field-required'],
  ],
  [
    'a required field that is now optional',
    object({ 'a!': string }),
    object({ a: string }),
    ['additive request-field-optional'],
    ['breaking response-field-optional'],
  ],
  [
    'a required field that no property describes',
    object({ a: string }),
    object({ a: string }, { required: ['b'] }),
    ['breaking request-field-required'],
    ['additive response-field-added'],
  ],
  [
    'a field called constructor that is gone',
    object({ constructor: string }),
    object({}),
    ['risky request-field-ignored'],
    ['breaking response-field-removed'],
  ],
  [
    'other fields that are no longer let through',
    object({ a: string }),
    object({ a: string }, { additionalProperties: false }),
    ['breaking request-fields-closed'],
    ['additive response-fields-closed'],
  ],
  [
    'other fields that are now let through',
    object({ a: string }, { additionalProperties: false }),
    object({ a: string }),
    ['additive request-fields-opened'],
    ['risky response-fields-opened'],
  ],
  [
    'the values of a map with another type',
    { type: 'object', additionalProperties: integer },
    { type: 'object', additionalProperties: { type: 'number' } },
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'a field of a map that is now described by itself, with another type',
    { type: 'object', additionalProperties: integer },
    object({ total: string }, { additionalProperties: integer }),
    ['breaking request-type-narrowed', 'additive request-field-added'],
    ['breaking response-type-widened', 'additive response-field-added'],
  ],
  [
    'a field that is now readOnly',
    object({ a: string, b: string }),
    object({ a: string, b: { type: 'string', readOnly: true } }),
    ['breaking request-field-removed'],
    [],
  ],
  [
    'a field that is now writeOnly',
    object({ a: string, b: string }),
    object({ a: string, b: { type: 'string', writeOnly: true } }),
    [],
    ['breaking response-field-removed'],
  ],
  [
    'a new required field that is readOnly',
    object({ a: string }),
    object({ a: string, 'b!': { type: 'string', readOnly: true } }),
    [],
    ['additive response-field-added'],
  ],

  [
    'another type',
    object({ a: string }),
    object({ a: integer }),
    ['breaking request-type-narrowed'],
    ['breaking response-type-widened'],
  ],
  [
    'one more type',
    object({ a: string }),
    object({ a: { type: ['string', 'integer'] } }),
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'one type less',
    object({ a: { type: ['string', 'integer'] } }),
    object({ a: string }),
    ['breaking request-type-narrowed'],
    ['additive response-type-narrowed'],
  ],
  [
    'an integer that is now a number',
    object({ a: integer }),
    object({ a: { type: 'number' } }),
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'a number that is now an integer',
    object({ a: { type: 'number' } }),
    object({ a: integer }),
    ['breaking request-type-narrowed'],
    ['additive response-type-narrowed'],
  ],
  [
    'any type where one was',
    object({ a: string }),
    object({ a: {} }),
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'one type where any was',
    object({ a: true }),
    object({ a: string }),
    ['breaking request-type-narrowed'],
    ['additive response-type-narrowed'],
  ],
  [
    'a null that is new, as a type',
    object({ a: string }),
    object({ a: { type: ['string', 'null'] } }),
    ['additive request-null-added'],
    ['breaking response-null-added'],
  ],
  [
    'a null that is new, as an alternative',
    object({ a: object({ 'b!': string }) }),
    object({ a: { anyOf: [object({ 'b!': string }), { type: 'null' }] } }),
    ['additive request-null-added'],
    ['breaking response-null-added'],
  ],
  [
    'a null that is new, as a value',
    object({ a: { type: 'string', enum: ['x'] } }),
    object({ a: { type: ['string', 'null'], enum: ['x', null] } }),
    ['additive request-null-added'],
    ['breaking response-null-added'],
  ],
  [
    'a null that is gone',
    object({ a: { type: ['string', 'null'] } }),
    object({ a: string }),
    ['breaking request-null-removed'],
    ['additive response-null-removed'],
  ],

  [
    'a value that is gone',
    object({ a: { enum: ['x', 'y'] } }),
    object({ a: { enum: ['x'] } }),
    ['breaking request-enum-value-removed'],
    ['additive response-enum-value-removed'],
  ],
  [
    'a value that is new',
    object({ a: { enum: ['x'] } }),
    object({ a: { enum: ['x', 'y'] } }),
    ['additive request-enum-value-added'],
    ['risky response-enum-value-added'],
  ],
  [
    'a constant that is now one of two',
    object({ a: { const: 'x' } }),
    object({ a: { enum: ['x', 'y'] } }),
    ['additive request-enum-value-added'],
    ['risky response-enum-value-added'],
  ],
  [
    'another constant',
    object({ a: { const: 'x' } }),
    object({ a: { const: 'y' } }),
    ['breaking request-enum-value-removed', 'additive request-enum-value-added'],
    ['breaking response-enum-replaced'],
  ],
  [
    'a list of values where any was',
    object({ a: string }),
    object({ a: { type: 'string', enum: ['x'] } }),
    ['breaking request-enum-introduced'],
    ['additive response-enum-introduced'],
  ],
  [
    'any value where a list was',
    object({ a: { type: 'string', enum: ['x'] } }),
    object({ a: string }),
    ['additive request-enum-dropped'],
    ['risky response-enum-dropped'],
  ],
  [
    'a value of another type that is new',
    object({ a: { enum: ['x', 1] } }),
    object({ a: { enum: ['x', 1, true] } }),
    ['additive request-enum-value-added'],
    ['risky response-enum-value-added'],
  ],

  ...bounds(
    ['a longer text', { type: 'string', maxLength: 5 }, { type: 'string', maxLength: 9 }],
    ['a text of any length', { type: 'string', maxLength: 5 }, string],
    ['a text that may be empty', { type: 'string', minLength: 1 }, string],
    ['a smaller minimum', { type: 'integer', minimum: 1 }, { type: 'integer', minimum: 0 }],
    [
      'a number from a minimum instead of above it',
      { type: 'number', exclusiveMinimum: 0 },
      { type: 'number', minimum: 0 },
    ],
    ['a larger maximum', { type: 'integer', maximum: 10 }, { type: 'integer', maximum: 100 }],
    ['no maximum', { type: 'integer', maximum: 10 }, integer],
    ['a finer multiple', { type: 'integer', multipleOf: 4 }, { type: 'integer', multipleOf: 2 }],
    ['more items', { type: 'array', items: string, maxItems: 2 }, { type: 'array', items: string, maxItems: 3 }],
    ['an empty list', { type: 'array', items: string, minItems: 1 }, { type: 'array', items: string }],
    ['repeated items', { type: 'array', items: string, uniqueItems: true }, { type: 'array', items: string }],
    ['more fields', { type: 'object', maxProperties: 2 }, { type: 'object', maxProperties: 3 }],
  ),
  [
    'a pattern that is new',
    object({ a: string }),
    object({ a: { type: 'string', pattern: '^x' } }),
    ['breaking request-pattern-changed'],
    ['additive response-pattern-added'],
  ],
  [
    'another pattern',
    object({ a: { type: 'string', pattern: '^x' } }),
    object({ a: { type: 'string', pattern: '^y' } }),
    ['breaking request-pattern-changed'],
    ['risky response-pattern-changed'],
  ],
  [
    'a pattern that is gone',
    object({ a: { type: 'string', pattern: '^x' } }),
    object({ a: string }),
    ['additive request-pattern-removed'],
    ['risky response-pattern-changed'],
  ],
  [
    'a format that is new',
    object({ a: string }),
    object({ a: { type: 'string', format: 'uuid' } }),
    ['breaking request-format-narrowed'],
    ['additive response-format-narrowed'],
  ],
  [
    'a format that is gone',
    object({ a: { type: 'string', format: 'date-time' } }),
    object({ a: string }),
    ['additive request-format-widened'],
    ['breaking response-format-widened'],
  ],
  [
    'another format',
    object({ a: { type: 'string', format: 'date-time' } }),
    object({ a: { type: 'string', format: 'date' } }),
    ['breaking request-format-narrowed'],
    ['breaking response-format-widened'],
  ],
  [
    'an int32 that is now an int64',
    object({ a: { type: 'integer', format: 'int32' } }),
    object({ a: { type: 'integer', format: 'int64' } }),
    ['additive request-format-widened'],
    ['breaking response-format-widened'],
  ],
  [
    'an int64 that is now an int32',
    object({ a: { type: 'integer', format: 'int64' } }),
    object({ a: { type: 'integer', format: 'int32' } }),
    ['breaking request-format-narrowed'],
    ['additive response-format-narrowed'],
  ],
  [
    'another encoding of a text',
    object({ a: { type: 'string', contentEncoding: 'base64' } }),
    object({ a: { type: 'string', contentEncoding: 'base32' } }),
    ['breaking request-format-narrowed'],
    ['breaking response-format-widened'],
  ],

  [
    'items of another type',
    { type: 'array', items: string },
    { type: 'array', items: integer },
    ['breaking request-type-narrowed'],
    ['breaking response-type-widened'],
  ],
  [
    'a field of items that is gone',
    { type: 'array', items: object({ a: string, b: string }) },
    { type: 'array', items: object({ a: string }) },
    ['risky request-field-ignored'],
    ['breaking response-field-removed'],
  ],
  [
    'a place in a tuple with another type',
    { type: 'array', prefixItems: [string, integer] },
    { type: 'array', prefixItems: [string, string] },
    ['breaking request-type-narrowed'],
    ['breaking response-type-widened'],
  ],
  [
    'one more place in a closed tuple',
    { type: 'array', prefixItems: [string], items: false },
    { type: 'array', prefixItems: [string, integer], items: false },
    ['additive request-schema-widened'],
    ['breaking response-schema-widened'],
  ],

  [
    'an alternative that is new, beside several',
    { oneOf: [cat, dog] },
    { oneOf: [cat, dog, bird] },
    ['additive request-variant-added'],
    ['risky response-variant-added'],
  ],
  [
    'an alternative that is new, beside one',
    cat,
    { oneOf: [cat, dog] },
    ['additive request-variant-added'],
    ['breaking response-variant-introduced'],
  ],
  [
    'an alternative that is new, and that a value may be beside the other',
    object({ a: string }),
    { oneOf: [object({ a: string }), object({ 'b!': string })] },
    ['additive request-variant-added'],
    ['breaking response-variant-introduced'],
  ],
  [
    'an alternative that is gone',
    { oneOf: [cat, dog, bird] },
    { oneOf: [bird, cat] },
    ['breaking request-variant-removed'],
    ['additive response-variant-removed'],
  ],
  [
    'an alternative of another type that is new',
    { anyOf: [cat, dog] },
    { anyOf: [cat, dog, string] },
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'a field of one alternative with another type',
    { oneOf: [cat, dog] },
    { oneOf: [dog, object({ 'kind!': { const: 'cat' }, lives: string })] },
    ['breaking request-type-narrowed'],
    ['breaking response-type-widened'],
  ],
  [
    'alternatives that are told apart by another field',
    { oneOf: [cat, dog], discriminator: { propertyName: 'kind' } },
    { oneOf: [cat, dog], discriminator: { propertyName: 'type' } },
    ['breaking request-discriminator-changed'],
    ['breaking response-discriminator-changed'],
  ],
  [
    'alternatives that have no discriminator any more',
    { oneOf: [cat, dog], discriminator: { propertyName: 'kind' } },
    { oneOf: [cat, dog] },
    ['risky discriminator-removed'],
    ['risky discriminator-removed'],
  ],

  [
    'a discriminator of which one alternative is left, where nothing has to be told apart',
    { oneOf: [cat, dog], discriminator: { propertyName: 'kind' } },
    { oneOf: [cat], discriminator: { propertyName: 'kind' } },
    ['breaking request-variant-removed'],
    ['additive response-variant-removed'],
  ],

  [
    'another default',
    object({ a: { type: 'string', default: 'x' } }),
    object({ a: { type: 'string', default: 'y' } }),
    ['risky request-default-changed'],
    ['risky response-default-changed'],
  ],
  [
    'a default that is gone',
    object({ a: { type: 'string', default: 'x' } }),
    object({ a: string }),
    ['risky request-default-changed'],
    ['risky response-default-changed'],
  ],
  [
    'a default that is new',
    object({ a: string }),
    object({ a: { type: 'string', default: 'x' } }),
    ['additive request-default-added'],
    ['additive response-default-added'],
  ],
  [
    'a field that is deprecated',
    object({ a: string }),
    object({ a: { type: 'string', deprecated: true } }),
    ['additive deprecated'],
    ['additive deprecated'],
  ],
  [
    'a field that is no longer deprecated',
    object({ a: { type: 'string', deprecated: true } }),
    object({ a: string }),
    ['additive deprecation-lifted'],
    ['additive deprecation-lifted'],
  ],

  [
    'what must not be, by a keyword without a rule of its own',
    object({ a: { type: ['string', 'integer'] } }),
    object({ a: { type: ['string', 'integer'], not: { type: 'string' } } }),
    ['breaking request-schema-narrowed'],
    ['additive response-schema-narrowed'],
  ],
  [
    'what must no longer not be',
    object({ a: { type: ['string', 'integer'], not: { type: 'string' } } }),
    object({ a: { type: ['string', 'integer'] } }),
    ['additive request-schema-widened'],
    ['breaking response-schema-widened'],
  ],
  [
    'a field that another one now needs',
    object({ a: string, b: string }),
    object({ a: string, b: string }, { dependentRequired: { a: ['b'] } }),
    ['breaking request-schema-narrowed'],
    ['additive response-schema-narrowed'],
  ],
  [
    'a keyword that cannot be judged',
    { type: 'object', $dynamicRef: '#a' },
    { type: 'object', $dynamicRef: '#b' },
    ['breaking request-schema-narrowed'],
    ['breaking response-schema-widened'],
  ],
  [
    'a bound where a list of longer values was, which no rule tells of',
    object({ a: { type: 'string', enum: ['long', 'longer'] } }),
    object({ a: { type: 'string', maxLength: 3 } }),
    ['breaking request-schema-narrowed', 'additive request-enum-dropped'],
    ['risky response-enum-dropped'],
  ],
  [
    'what no rule tells of, beside a field that is gone',
    object({ a: { type: 'string', enum: ['long', 'longer'] }, b: string }),
    object({ a: { type: 'string', maxLength: 3 } }),
    ['breaking request-schema-narrowed', 'risky request-field-ignored', 'additive request-enum-dropped'],
    ['breaking response-field-removed', 'risky response-enum-dropped'],
  ],
  [
    'the fields of a pattern with another type',
    { type: 'object', patternProperties: { '^x-': string } },
    { type: 'object', patternProperties: { '^x-': { type: ['string', 'null'] } } },
    ['additive request-schema-widened'],
    ['breaking response-schema-widened'],
  ],
];

/** A bound that is looser, which is tighter the other way round. */
function bounds(...loosened: [name: string, tight: JsonObject, loose: JsonObject][]): Row[] {
  return loosened.flatMap(([name, tight, loose]): Row[] => [
    [
      `${name}, as it was not allowed before`,
      object({ a: tight }),
      object({ a: loose }),
      ['additive request-bound-widened'],
      ['risky response-bound-widened'],
    ],
    [
      `${name}, as it is no longer allowed`,
      object({ a: loose }),
      object({ a: tight }),
      ['breaking request-bound-narrowed'],
      ['additive response-bound-narrowed'],
    ],
  ]);
}

describe('in what a client sends', () => {
  test.each(rows)('%s', (_, base, head, whenSent) => {
    expect(verdictOf(sent(base, head))).toEqual(whenSent);
  });
});

describe('in what a client receives', () => {
  test.each(rows)('%s', (_, base, head, __, whenReceived) => {
    expect(verdictOf(received(base, head))).toEqual(whenReceived);
  });
});

const errorBody = (...keys: string[]) => object({ 'error!': object({ 'key!': { type: 'string', enum: keys } }) });

describe('of alternatives that a discriminator names', () => {
  const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
  const pets = (mapping: JsonObject, ...names: string[]): JsonObject => ({
    oneOf: names.map(ref),
    discriminator: { propertyName: 'kind', mapping },
  });
  const schemas = { A: object({ 'kind!': string, a: string }), B: object({ 'kind!': string, b: string }) };
  const both = { base: schemas, head: schemas };
  const [a, b] = [ref('A').$ref, ref('B').$ref];

  test.each<[string, JsonObject, JsonObject, string[], string[]]>([
    [
      'the same, by name and by reference, is nothing',
      pets({ a, b }, 'A', 'B'),
      pets({ a: 'A', b: 'B' }, 'B', 'A'),
      [],
      [],
    ],
    [
      'a value that means another breaks',
      pets({ a, b }, 'A', 'B'),
      pets({ a: b, b: a }, 'A', 'B'),
      ['breaking request-discriminator-changed', 'breaking request-discriminator-changed'],
      ['breaking response-discriminator-changed', 'breaking response-discriminator-changed'],
    ],
    [
      'a value that is gone breaks who sends it',
      pets({ a, b, old: b }, 'A', 'B'),
      pets({ a, b }, 'A', 'B'),
      ['breaking request-discriminator-changed'],
      [],
    ],
    [
      'a schema that others build on by allOf may have one too',
      { type: 'object', discriminator: { propertyName: 'kind', mapping: { a } } },
      { type: 'object', discriminator: { propertyName: 'type', mapping: { a } } },
      ['breaking request-discriminator-changed'],
      ['breaking response-discriminator-changed'],
    ],
    [
      'what is not mapped goes by its name, so that a name is a value',
      pets({ a }, 'A', 'B'),
      pets({ a, b }, 'A', 'B'),
      ['breaking request-discriminator-changed'],
      [],
    ],
  ])('%s', (_, base, head, whenSent, whenReceived) => {
    expect(verdictOf(sent(base, head, both))).toEqual(whenSent);
    expect(verdictOf(received(base, head, both))).toEqual(whenReceived);
  });
});

describe('of the keys of an error', () => {
  test.each<[string, Pair, string[]]>([
    [
      'one that is gone breaks',
      received(errorBody('a', 'b'), errorBody('a'), { status: 422 }),
      ['breaking error-key-removed'],
    ],
    [
      'one that is new is risky',
      received(errorBody('a'), errorBody('a', 'b'), { status: 422 }),
      ['risky error-key-added'],
    ],
    [
      'the only one, replaced, is both',
      received(errorBody('a'), errorBody('b'), { status: 422 }),
      ['breaking error-key-removed', 'risky error-key-added'],
    ],
    [
      'one that is gone where nothing failed is a value like any other',
      received(errorBody('a', 'b'), errorBody('a')),
      ['additive response-enum-value-removed'],
    ],
  ])('%s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});
