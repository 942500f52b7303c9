import { describe, expect, test } from 'vitest';
import { type JsonObject, object, type Pair, received, sent, verdictOf } from './openapi-pair.ts';

/**
 * A change of a schema: its name, the schema before and after it, and the expected verdicts for requests and responses.
 */
type Row = [name: string, base: JsonObject, head: JsonObject, whenSent: string[], whenReceived: string[]];

const string = { type: 'string' };
const integer = { type: 'integer' };
const cat = object({ 'kind!': { const: 'cat' }, lives: integer });
const dog = object({ 'kind!': { const: 'dog' } });
const bird = object({ 'kind!': { const: 'bird' } });

const rows: Row[] = [
  [
    'a removed field',
    object({ 'a!': string, b: string }),
    object({ 'a!': string }),
    ['risky request-field-ignored'],
    ['breaking response-field-removed'],
  ],
  [
    'a removed required field',
    object({ 'a!': string }),
    object({}),
    ['risky request-field-ignored'],
    ['breaking response-field-removed'],
  ],
  [
    'a removed field of a closed object',
    object({ a: string, b: string }, { additionalProperties: false }),
    object({ a: string }, { additionalProperties: false }),
    ['breaking request-field-removed'],
    ['breaking response-field-removed'],
  ],
  [
    'a renamed field',
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
    'an optional field that becomes required',
    object({ a: string }),
    object({ 'a!': string }),
    ['breaking request-field-required'],
    ['additive response-field-required'],
  ],
  [
    'a required field that becomes optional',
    object({ 'a!': string }),
    object({ a: string }),
    ['additive request-field-optional'],
    ['breaking response-field-optional'],
  ],
  [
    'a new required field without a property',
    object({ a: string }),
    object({ a: string }, { required: ['b'] }),
    ['breaking request-field-required'],
    ['additive response-field-added'],
  ],
  [
    'a removed field called constructor',
    object({ constructor: string }),
    object({}),
    ['risky request-field-ignored'],
    ['breaking response-field-removed'],
  ],
  [
    'additional fields that become forbidden',
    object({ a: string }),
    object({ a: string }, { additionalProperties: false }),
    ['breaking request-fields-closed'],
    ['additive response-fields-closed'],
  ],
  [
    'additional fields that become allowed',
    object({ a: string }, { additionalProperties: false }),
    object({ a: string }),
    ['additive request-fields-opened'],
    ['risky response-fields-opened'],
  ],
  [
    'another type of the values of a map',
    { type: 'object', additionalProperties: integer },
    { type: 'object', additionalProperties: { type: 'number' } },
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'a map field that gets its own property with another type',
    { type: 'object', additionalProperties: integer },
    object({ total: string }, { additionalProperties: integer }),
    ['breaking request-type-narrowed', 'additive request-field-added'],
    ['breaking response-type-widened', 'additive response-field-added'],
  ],
  [
    'a field that becomes readOnly',
    object({ a: string, b: string }),
    object({ a: string, b: { type: 'string', readOnly: true } }),
    ['breaking request-field-removed'],
    [],
  ],
  [
    'a field that becomes writeOnly',
    object({ a: string, b: string }),
    object({ a: string, b: { type: 'string', writeOnly: true } }),
    [],
    ['breaking response-field-removed'],
  ],
  [
    'a new required readOnly field',
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
    'an additional type',
    object({ a: string }),
    object({ a: { type: ['string', 'integer'] } }),
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'a removed type',
    object({ a: { type: ['string', 'integer'] } }),
    object({ a: string }),
    ['breaking request-type-narrowed'],
    ['additive response-type-narrowed'],
  ],
  [
    'an integer that becomes a number',
    object({ a: integer }),
    object({ a: { type: 'number' } }),
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'a number that becomes an integer',
    object({ a: { type: 'number' } }),
    object({ a: integer }),
    ['breaking request-type-narrowed'],
    ['additive response-type-narrowed'],
  ],
  [
    'any type in place of one type',
    object({ a: string }),
    object({ a: {} }),
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'one type in place of any type',
    object({ a: true }),
    object({ a: string }),
    ['breaking request-type-narrowed'],
    ['additive response-type-narrowed'],
  ],
  [
    'a new null as a type',
    object({ a: string }),
    object({ a: { type: ['string', 'null'] } }),
    ['additive request-null-added'],
    ['breaking response-null-added'],
  ],
  [
    'a new null as an alternative',
    object({ a: object({ 'b!': string }) }),
    object({ a: { anyOf: [object({ 'b!': string }), { type: 'null' }] } }),
    ['additive request-null-added'],
    ['breaking response-null-added'],
  ],
  [
    'a new null as a value',
    object({ a: { type: 'string', enum: ['x'] } }),
    object({ a: { type: ['string', 'null'], enum: ['x', null] } }),
    ['additive request-null-added'],
    ['breaking response-null-added'],
  ],
  [
    'a removed null',
    object({ a: { type: ['string', 'null'] } }),
    object({ a: string }),
    ['breaking request-null-removed'],
    ['additive response-null-removed'],
  ],

  [
    'a removed value',
    object({ a: { enum: ['x', 'y'] } }),
    object({ a: { enum: ['x'] } }),
    ['breaking request-enum-value-removed'],
    ['additive response-enum-value-removed'],
  ],
  [
    'a new value',
    object({ a: { enum: ['x'] } }),
    object({ a: { enum: ['x', 'y'] } }),
    ['additive request-enum-value-added'],
    ['risky response-enum-value-added'],
  ],
  [
    'a constant that becomes one of two values',
    object({ a: { const: 'x' } }),
    object({ a: { enum: ['x', 'y'] } }),
    ['additive request-enum-value-added'],
    ['risky response-enum-value-added'],
  ],
  [
    'a changed constant',
    object({ a: { const: 'x' } }),
    object({ a: { const: 'y' } }),
    ['breaking request-enum-value-removed', 'additive request-enum-value-added'],
    ['breaking response-enum-replaced'],
  ],
  [
    'a list of values in place of any value',
    object({ a: string }),
    object({ a: { type: 'string', enum: ['x'] } }),
    ['breaking request-enum-introduced'],
    ['additive response-enum-introduced'],
  ],
  [
    'any value in place of a list of values',
    object({ a: { type: 'string', enum: ['x'] } }),
    object({ a: string }),
    ['additive request-enum-dropped'],
    ['risky response-enum-dropped'],
  ],
  [
    'a new value of another type',
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
      'an inclusive minimum in place of an exclusive one',
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
    'a new pattern',
    object({ a: string }),
    object({ a: { type: 'string', pattern: '^x' } }),
    ['breaking request-pattern-changed'],
    ['additive response-pattern-added'],
  ],
  [
    'a changed pattern',
    object({ a: { type: 'string', pattern: '^x' } }),
    object({ a: { type: 'string', pattern: '^y' } }),
    ['breaking request-pattern-changed'],
    ['risky response-pattern-changed'],
  ],
  [
    'a removed pattern',
    object({ a: { type: 'string', pattern: '^x' } }),
    object({ a: string }),
    ['additive request-pattern-removed'],
    ['risky response-pattern-changed'],
  ],
  [
    'a new format',
    object({ a: string }),
    object({ a: { type: 'string', format: 'uuid' } }),
    ['breaking request-format-narrowed'],
    ['additive response-format-narrowed'],
  ],
  [
    'a removed format',
    object({ a: { type: 'string', format: 'date-time' } }),
    object({ a: string }),
    ['additive request-format-widened'],
    ['breaking response-format-widened'],
  ],
  [
    'a changed format',
    object({ a: { type: 'string', format: 'date-time' } }),
    object({ a: { type: 'string', format: 'date' } }),
    ['breaking request-format-narrowed'],
    ['breaking response-format-widened'],
  ],
  [
    'an int32 that becomes an int64',
    object({ a: { type: 'integer', format: 'int32' } }),
    object({ a: { type: 'integer', format: 'int64' } }),
    ['additive request-format-widened'],
    ['breaking response-format-widened'],
  ],
  [
    'an int64 that becomes an int32',
    object({ a: { type: 'integer', format: 'int64' } }),
    object({ a: { type: 'integer', format: 'int32' } }),
    ['breaking request-format-narrowed'],
    ['additive response-format-narrowed'],
  ],
  [
    'a changed encoding of a text',
    object({ a: { type: 'string', contentEncoding: 'base64' } }),
    object({ a: { type: 'string', contentEncoding: 'base32' } }),
    ['breaking request-format-narrowed'],
    ['breaking response-format-widened'],
  ],

  [
    'another type of the items',
    { type: 'array', items: string },
    { type: 'array', items: integer },
    ['breaking request-type-narrowed'],
    ['breaking response-type-widened'],
  ],
  [
    'a removed field of the items',
    { type: 'array', items: object({ a: string, b: string }) },
    { type: 'array', items: object({ a: string }) },
    ['risky request-field-ignored'],
    ['breaking response-field-removed'],
  ],
  [
    'another type of a tuple item',
    { type: 'array', prefixItems: [string, integer] },
    { type: 'array', prefixItems: [string, string] },
    ['breaking request-type-narrowed'],
    ['breaking response-type-widened'],
  ],
  [
    'an additional item of a closed tuple',
    { type: 'array', prefixItems: [string], items: false },
    { type: 'array', prefixItems: [string, integer], items: false },
    ['additive request-schema-widened'],
    ['breaking response-schema-widened'],
  ],

  [
    'a new alternative beside several',
    { oneOf: [cat, dog] },
    { oneOf: [cat, dog, bird] },
    ['additive request-variant-added'],
    ['risky response-variant-added'],
  ],
  [
    'a new alternative beside one',
    cat,
    { oneOf: [cat, dog] },
    ['additive request-variant-added'],
    ['breaking response-variant-introduced'],
  ],
  [
    'a new alternative that may match together with the other',
    object({ a: string }),
    { oneOf: [object({ a: string }), object({ 'b!': string })] },
    ['additive request-variant-added'],
    ['breaking response-variant-introduced'],
  ],
  [
    'a removed alternative',
    { oneOf: [cat, dog, bird] },
    { oneOf: [bird, cat] },
    ['breaking request-variant-removed'],
    ['additive response-variant-removed'],
  ],
  [
    'a new alternative of another type',
    { anyOf: [cat, dog] },
    { anyOf: [cat, dog, string] },
    ['additive request-type-widened'],
    ['breaking response-type-widened'],
  ],
  [
    'another type of a field of one alternative',
    { oneOf: [cat, dog] },
    { oneOf: [dog, object({ 'kind!': { const: 'cat' }, lives: string })] },
    ['breaking request-type-narrowed'],
    ['breaking response-type-widened'],
  ],
  [
    'alternatives with another discriminator field',
    { oneOf: [cat, dog], discriminator: { propertyName: 'kind' } },
    { oneOf: [cat, dog], discriminator: { propertyName: 'type' } },
    ['breaking request-discriminator-changed'],
    ['breaking response-discriminator-changed'],
  ],
  [
    'alternatives without their former discriminator',
    { oneOf: [cat, dog], discriminator: { propertyName: 'kind' } },
    { oneOf: [cat, dog] },
    ['risky discriminator-removed'],
    ['risky discriminator-removed'],
  ],

  [
    'a removed discriminator with only one remaining alternative',
    { oneOf: [cat, dog], discriminator: { propertyName: 'kind' } },
    { oneOf: [cat], discriminator: { propertyName: 'kind' } },
    ['breaking request-variant-removed'],
    ['additive response-variant-removed'],
  ],

  [
    'a changed default',
    object({ a: { type: 'string', default: 'x' } }),
    object({ a: { type: 'string', default: 'y' } }),
    ['breaking request-default-changed'],
    ['risky response-default-changed'],
  ],
  [
    'a changed default of a required field, which clients always send',
    object({ 'a!': { type: 'string', default: 'x' } }),
    object({ 'a!': { type: 'string', default: 'y' } }),
    [],
    [],
  ],
  [
    'a removed default',
    object({ a: { type: 'string', default: 'x' } }),
    object({ a: string }),
    ['breaking request-default-changed'],
    ['risky response-default-changed'],
  ],
  [
    'a new default',
    object({ a: string }),
    object({ a: { type: 'string', default: 'x' } }),
    ['additive request-default-added'],
    ['additive response-default-added'],
  ],
  [
    'a newly deprecated field',
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
    'a new `not`, a keyword without its own rule',
    object({ a: { type: ['string', 'integer'] } }),
    object({ a: { type: ['string', 'integer'], not: { type: 'string' } } }),
    ['breaking request-schema-narrowed'],
    ['additive response-schema-narrowed'],
  ],
  [
    'a removed `not`',
    object({ a: { type: ['string', 'integer'], not: { type: 'string' } } }),
    object({ a: { type: ['string', 'integer'] } }),
    ['additive request-schema-widened'],
    ['breaking response-schema-widened'],
  ],
  [
    'a field that another field requires',
    object({ a: string, b: string }),
    object({ a: string, b: string }, { dependentRequired: { a: ['b'] } }),
    ['breaking request-schema-narrowed'],
    ['additive response-schema-narrowed'],
  ],
  [
    'a changed keyword that the diff cannot judge',
    { type: 'object', $dynamicRef: '#a' },
    { type: 'object', $dynamicRef: '#b' },
    ['breaking request-schema-narrowed'],
    ['breaking response-schema-widened'],
  ],
  [
    'a bound in place of a list of longer values, without a rule',
    object({ a: { type: 'string', enum: ['long', 'longer'] } }),
    object({ a: { type: 'string', maxLength: 3 } }),
    ['breaking request-schema-narrowed', 'additive request-enum-dropped'],
    ['risky response-enum-dropped'],
  ],
  [
    'a change without a rule beside a removed field',
    object({ a: { type: 'string', enum: ['long', 'longer'] }, b: string }),
    object({ a: { type: 'string', maxLength: 3 } }),
    ['breaking request-schema-narrowed', 'risky request-field-ignored', 'additive request-enum-dropped'],
    ['breaking response-field-removed', 'risky response-enum-dropped'],
  ],
  [
    'a required field that the schema also forbids, removed',
    { type: 'object', required: ['a'], allOf: [object({}, { additionalProperties: false })] },
    object({}, { additionalProperties: false }),
    [],
    ['breaking response-schema-widened'],
  ],
  [
    'another type of the fields of a pattern',
    { type: 'object', patternProperties: { '^x-': string } },
    { type: 'object', patternProperties: { '^x-': { type: ['string', 'null'] } } },
    ['additive request-null-added'],
    ['breaking response-null-added'],
  ],
  ...constraint(
    'a schema of the fields that match a pattern',
    { type: 'object' },
    { patternProperties: { '^x': string } },
  ),
  [
    'a first pattern of fields in a closed object',
    object({ a: string }, { additionalProperties: false }),
    object({ a: string }, { additionalProperties: false, patternProperties: { '^x-': string } }),
    ['additive request-schema-widened'],
    ['breaking response-schema-widened'],
  ],
  ...constraint(
    'a schema that depends on a field',
    { type: 'object' },
    { dependentSchemas: { a: { required: ['b'] } } },
  ),
  ...constraint('a field that depends on a field', { type: 'object' }, { dependentRequired: { a: ['b'] } }),
  ...constraint('a limit of the names of fields', { type: 'object' }, { propertyNames: { maxLength: 3 } }),
  ...constraint('a condition', { type: 'object' }, { if: { required: ['a'] }, else: { required: ['b'] } }),
  ...constraint('a list that needs a certain item', { type: 'array' }, { contains: string }),
  ...constraint('a list without further items', { type: 'array', prefixItems: [string] }, { unevaluatedItems: false }),
  ...constraint('an excluded value', string, { not: { const: 'x' } }),
  ...constraint(
    'an excluded object with fields of a pattern',
    { type: 'object' },
    {
      not: { patternProperties: { '^x': string } },
    },
  ),
  ...unknown('an unknown keyword', { type: 'object' }, { futureKeyword: 1 }),
  ...unknown('a dynamic reference', { type: 'object' }, { $dynamicRef: '#node' }),
  ...unknown(
    'an unevaluated field beside a condition',
    { type: 'object', if: { required: ['a'] } },
    {
      unevaluatedProperties: false,
    },
  ),
];

/** Returns two rows for a keyword that can only refuse values: one with the keyword added, one with it removed. */
function constraint(name: string, schema: JsonObject, keywords: JsonObject): Row[] {
  const [loose, tight] = [schema, { ...schema, ...keywords }];
  const [narrowed, widened] = ['request-schema-narrowed', 'response-schema-widened'];
  return [
    [`${name}, added`, loose, tight, [`breaking ${narrowed}`], ['additive response-schema-narrowed']],
    [`${name}, removed`, tight, loose, ['additive request-schema-widened'], [`breaking ${widened}`]],
  ];
}

/** Returns two rows for a keyword whose effect is unknown, so that no change of it is safe. */
function unknown(name: string, schema: JsonObject, keywords: JsonObject): Row[] {
  const verdicts: [string[], string[]] = [['breaking request-schema-narrowed'], ['breaking response-schema-widened']];
  return [
    [`${name}, added`, schema, { ...schema, ...keywords }, ...verdicts],
    [`${name}, removed`, { ...schema, ...keywords }, schema, ...verdicts],
  ];
}

/** Returns two rows for each bound: one for a looser bound and one for a tighter bound. */
function bounds(...loosened: [name: string, tight: JsonObject, loose: JsonObject][]): Row[] {
  return loosened.flatMap(([name, tight, loose]): Row[] => [
    [
      `${name}, newly allowed`,
      object({ a: tight }),
      object({ a: loose }),
      ['additive request-bound-widened'],
      ['risky response-bound-widened'],
    ],
    [
      `${name}, no longer allowed`,
      object({ a: loose }),
      object({ a: tight }),
      ['breaking request-bound-narrowed'],
      ['additive response-bound-narrowed'],
    ],
  ]);
}

describe('changes of schemas in requests', () => {
  test.each(rows)('openapi-diff judges this request change correctly: %s', (_, base, head, whenSent) => {
    expect(verdictOf(sent(base, head))).toEqual(whenSent);
  });
});

describe('changes of schemas in responses', () => {
  test.each(rows)('openapi-diff judges this response change correctly: %s', (_, base, head, __, whenReceived) => {
    expect(verdictOf(received(base, head))).toEqual(whenReceived);
  });
});

const errorBody = (...keys: string[]) => object({ 'error!': object({ 'key!': { type: 'string', enum: keys } }) });

describe('changes of discriminators', () => {
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
      'a mapping by reference in place of names is no change',
      pets({ a, b }, 'A', 'B'),
      pets({ a: 'A', b: 'B' }, 'B', 'A'),
      [],
      [],
    ],
    [
      'a discriminator value with another schema is breaking',
      pets({ a, b }, 'A', 'B'),
      pets({ a: b, b: a }, 'A', 'B'),
      ['breaking request-discriminator-changed', 'breaking request-discriminator-changed'],
      ['breaking response-discriminator-changed', 'breaking response-discriminator-changed'],
    ],
    [
      'a removed discriminator value is breaking in requests',
      pets({ a, b, old: b }, 'A', 'B'),
      pets({ a, b }, 'A', 'B'),
      ['breaking request-discriminator-changed'],
      [],
    ],
    [
      'a changed discriminator of a base schema is breaking',
      { type: 'object', discriminator: { propertyName: 'kind', mapping: { a } } },
      { type: 'object', discriminator: { propertyName: 'type', mapping: { a } } },
      ['breaking request-discriminator-changed'],
      ['breaking response-discriminator-changed'],
    ],
    [
      'a mapping that replaces the implicit schema name is breaking in requests',
      pets({ a }, 'A', 'B'),
      pets({ a, b }, 'A', 'B'),
      ['breaking request-discriminator-changed'],
      [],
    ],
  ])('openapi-diff decides that %s', (_, base, head, whenSent, whenReceived) => {
    expect(verdictOf(sent(base, head, both))).toEqual(whenSent);
    expect(verdictOf(received(base, head, both))).toEqual(whenReceived);
  });
});

describe('changes of error keys', () => {
  test.each<[string, Pair, string[]]>([
    [
      'a removed error key is breaking',
      received(errorBody('a', 'b'), errorBody('a'), { status: 422 }),
      ['breaking error-key-removed'],
    ],
    [
      'a new error key is risky',
      received(errorBody('a'), errorBody('a', 'b'), { status: 422 }),
      ['risky error-key-added'],
    ],
    [
      'a replaced only error key is breaking and risky',
      received(errorBody('a'), errorBody('b'), { status: 422 }),
      ['breaking error-key-removed', 'risky error-key-added'],
    ],
    [
      'a removed key in a success response is a usual enum value',
      received(errorBody('a', 'b'), errorBody('a')),
      ['additive response-enum-value-removed'],
    ],
  ])('openapi-diff decides that %s', (_, pair, verdict) => {
    expect(verdictOf(pair)).toEqual(verdict);
  });
});
