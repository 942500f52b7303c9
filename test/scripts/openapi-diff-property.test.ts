import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import fc from 'fast-check';
import { initSync, validator_for } from 'jsoncompat';
import { expect, test } from 'vitest';
import { Random } from '../fuzz/random.ts';
import { changesOf, type Json, type JsonObject, type Pair, received, sent } from './openapi-pair.ts';

initSync({ module: readFileSync(createRequire(import.meta.url).resolve('jsoncompat/jsoncompat_wasm_bg.wasm')) });

const seed = Number(process.env.PROPERTY_SEED ?? 20_260_314);
const runs = Number(process.env.PROPERTY_RUNS ?? 15);

/**
 * A schema before and after a change. The generated schemas have only a few differences, because two unrelated schemas
 * are rarely compatible.
 */
interface Schemas {
  base: Json;
  head: Json;
}

const text = fc.record({
  type: fc.constant('string'),
  minLength: fc.option(fc.integer({ min: 0, max: 2 }), { nil: undefined }),
  maxLength: fc.option(fc.integer({ min: 2, max: 4 }), { nil: undefined }),
});
const number = fc.record({
  type: fc.constantFrom('integer', 'number'),
  minimum: fc.option(fc.integer({ min: -2, max: 0 }), { nil: undefined }),
  maximum: fc.option(fc.integer({ min: 6, max: 9 }), { nil: undefined }),
  multipleOf: fc.option(fc.constantFrom(1, 2, 3), { nil: undefined }),
});
const list = fc.subarray(['x', 'y', 1, null, true], { minLength: 1 }).map(values => ({ enum: values }));
const types = fc.subarray(['string', 'integer', 'null', 'boolean'], { minLength: 1 }).map(type => ({ type }));
const named = fc.constantFrom({ $ref: '#/components/schemas/Name' }, { $ref: '#/components/schemas/Tree' });
const leaf: fc.Arbitrary<Json> = fc.oneof(text, number, list, types, named, fc.constant({ const: 'x' })).map(defined);

function defined(schema: object): Json {
  return JSON.parse(JSON.stringify(schema)) as Json;
}

type Presence = 'required' | 'optional' | 'absent';
const presence: fc.Arbitrary<Presence> = fc.constantFrom('required', 'required', 'optional', 'optional', 'absent');

type Kind = 'pair' | 'object' | 'array' | 'union' | 'all' | 'leaf';
const { pair } = fc.letrec<Record<Kind, Schemas>>(tie => ({
  pair: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    ...(['leaf', 'object', 'array', 'union', 'all'] as const).map(kind => tie(kind)),
  ),
  leaf: fc.oneof(
    { weight: 4, arbitrary: leaf.map(one => ({ base: one, head: one })) },
    { weight: 1, arbitrary: fc.record({ base: leaf, head: leaf }) },
  ),
  object: fc
    .record({
      fields: fc.dictionary(
        fc.constantFrom('a', 'b', 'c'),
        fc.record({ schemas: tie('pair'), base: presence, head: fc.option(presence, { nil: undefined, freq: 3 }) }),
        { minKeys: 1, maxKeys: 3 },
      ),
      closed: fc.tuple(fc.boolean(), fc.boolean()),
    })
    .map(({ fields, closed }) => ({
      base: objectOf(fields, 'base', closed[0]),
      head: objectOf(fields, 'head', closed[1]),
    })),
  array: tie('pair').map(({ base, head }) => ({
    base: { type: 'array', items: base },
    head: { type: 'array', items: head },
  })),
  union: fc
    .tuple(fc.array(tie('pair'), { minLength: 1, maxLength: 3 }), fc.nat(3), fc.nat(3))
    .map(([pairs, hidden, gone]) => {
      const without = (index: number) => pairs.filter((_, n) => n !== index);
      const head = without(gone).map(one => one.head);
      return { base: unionOf(without(hidden).map(one => one.base)), head: unionOf(head.reverse()) };
    }),
  all: fc
    .tuple(tie('object'), tie('object'))
    .map(([one, other]) => ({ base: { allOf: [one.base, other.base] }, head: { allOf: [one.head, other.head] } })),
}));

/**
 * A field of an object. `base` and `head` say whether the field is present, required or absent in each document. If
 * `head` is undefined, the value of `base` also applies to `head`.
 */
interface Field {
  schemas: Schemas;
  base: Presence;
  head: Presence | undefined;
}

function objectOf(fields: Record<string, Field>, side: 'base' | 'head', isClosed: boolean): JsonObject {
  const presenceOf = (field: Field) => field[side] ?? field.base;
  const present = Object.entries(fields).filter(([, field]) => presenceOf(field) !== 'absent');
  return {
    type: 'object',
    properties: Object.fromEntries(present.map(([name, { schemas }]) => [name, schemas[side]])),
    required: present.filter(([, field]) => presenceOf(field) === 'required').map(([name]) => name),
    ...(isClosed ? { additionalProperties: false } : {}),
  };
}

function unionOf(schemas: Json[]): Json {
  return schemas.length === 0 ? { type: 'string' } : { anyOf: schemas };
}

const schemas = {
  Name: { type: 'string', maxLength: 3 },
  Tree: { type: 'object', properties: { child: { $ref: '#/components/schemas/Tree' }, n: { type: 'integer' } } },
};
const components = { base: schemas, head: { ...schemas, Name: { type: ['string', 'null'], maxLength: 3 } } };

test('if openapi-diff calls a schema change neither breaking nor risky, old requests stay valid, and new responses match the old document', () => {
  let checked = 0;
  fc.assert(
    fc.property(pair, fc.nat(), ({ base, head }, seed) => {
      const [old, now] = [alone(base, components.base), alone(head, components.head)];
      const isHarmless = (documents: Pair) => changesOf(documents).every(({ level }) => level === 'additive');
      for (const [documents, from, to] of [
        [sent(base, head, components), old, now],
        [received(base, head, components), now, old],
      ] as const) {
        if (!isHarmless(documents)) continue;
        checked += 1;
        for (const value of valuesOf(from, seed))
          expect(validator_for(to).is_valid(value), `${value} of ${from} by ${to}`).toBe(true);
      }
    }),
    { seed, numRuns: runs },
  );
  expect(checked).toBeGreaterThan(runs / 4);
});

/** Returns the schema as a separate JSON Schema document that contains the definitions it refers to. */
function alone(schema: Json, definitions: JsonObject): string {
  const text = JSON.stringify({ allOf: [schema], $defs: definitions });
  return text.replaceAll('#/components/schemas/', '#/$defs/');
}

/** Generates values from the parts of the schema. Returns the values that the schema accepts. */
function valuesOf(schema: string, seed: number): string[] {
  const validator = validator_for(schema);
  const random = new Random(seed);
  const root = JSON.parse(schema) as JsonObject;
  const values = Array.from({ length: 24 }, () => JSON.stringify(someValue(root, root.$defs as JsonObject, random, 0)));
  return [...new Set(values)].filter(value => validator.is_valid(value));
}

function someValue(schema: Json, definitions: JsonObject, random: Random, depth: number): Json {
  const { $ref, allOf, anyOf, const: constant, enum: listed, type, ...others } = schema as JsonObject;
  const within = (one: Json) => someValue(one, definitions, random, depth + 1);
  if (typeof $ref === 'string') return within(definitions[$ref.slice('#/$defs/'.length)] ?? true);
  if (Array.isArray(allOf)) {
    const parts = allOf.map(within);
    const areObjects = parts.every(part => typeof part === 'object' && part !== null && !Array.isArray(part));
    return areObjects ? Object.assign({}, ...(random.chance(0.5) ? parts : parts.reverse())) : (parts[0] ?? null);
  }
  if (Array.isArray(anyOf)) return within(random.pick(anyOf));
  if (constant !== undefined) return constant;
  if (Array.isArray(listed)) return random.pick(listed);
  const kind = Array.isArray(type) ? random.pick(type) : type;
  if (kind === 'string') return 'xyzzy'.slice(0, random.integer(0, 5));
  if (kind === 'integer') return random.integer(0, 12) - 3;
  if (kind === 'number') return random.integer(0, 24) / 2 - 3;
  if (kind === 'boolean') return random.chance(0.5);
  if (kind === 'array') return Array.from({ length: random.integer(0, 2) }, () => within(others.items ?? true));
  if (kind !== 'object') return null;
  const fields = Object.entries((others.properties ?? {}) as JsonObject);
  const required = (others.required ?? []) as string[];
  const present = fields.filter(([name]) => required.includes(name) || (depth < 5 && random.chance(0.5)));
  return Object.fromEntries(present.map(([name, one]) => [name, within(one)]));
}
