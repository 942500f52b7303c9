import type { Located } from '../document.ts';
import { byFirst, canonicalText, isObject } from '../json.ts';
import { type Atom, atomsOf, isAnnotation, pointerOf, unionsOf } from './atoms.ts';
import { facets } from './facets.ts';
import { annotationsOf, mergeAtoms } from './merge-atoms.ts';
import {
  type Fragment,
  isDisjoint,
  isNumber,
  type Kind,
  kinds,
  noFields,
  type SchemaReader,
  type Shape,
} from './shape.ts';

/** Returns the normalized schema (shape) of a fragment. A value must satisfy all parts of the fragment. */
export function readShape(reader: SchemaReader, fragment: Fragment): Shape {
  return remember(reader, keyOf(fragment), () => {
    const pointer = pointerOf(fragment);
    return shapeOf(reader, atomsOf(fragment), pointer, new Set());
  });
}

function remember({ shapes }: SchemaReader, key: string, read: () => Shape): Shape {
  const shape = shapes.get(key) ?? read();
  shapes.set(key, shape);
  return shape;
}

/** Whether a keyword does not change the normalized schema (shape). */
function isDescriptive(keyword: string): boolean {
  return isAnnotation(keyword) && keyword !== 'default' && keyword !== 'deprecated' && keyword !== 'discriminator';
}

/**
 * Returns a key that identifies a fragment within its document. If a part of the fragment is only a reference, the key
 * contains the reference's target instead.
 */
export function keyOf(fragment: Fragment): string {
  return fragment.map(part => (isBareReference(part) ? pointerOf([part]) : part.pointer)).join(' ');
}

function isBareReference({ value }: Located): boolean {
  return isObject(value) && typeof value.$ref === 'string' && Object.keys(value).length === 1;
}

/** The maximum number of combinations of alternatives (`anyOf`, `oneOf`) that the comparison builds for one schema. */
const mostVariants = 256;

function shapeOf(
  reader: SchemaReader,
  atoms: Atom[] | undefined,
  pointer: string,
  expanding: ReadonlySet<string>,
): Shape {
  const impossible = { ...reader.root, value: { enum: [] }, pointer, isOutermost: false };
  if (atoms === undefined) return mergeAtoms(reader, [impossible], pointer);
  const plain = atoms.map(atom => ({ ...atom, value: withoutUnions(atom.value) }));
  const unions = atoms.flatMap(atom => (expanding.has(atom.pointer) ? [] : unionsOf(atom)));
  if (unions.length === 0) return mergeAtoms(reader, plain, pointer);
  if (unions.reduce((product, union) => product * union.length, 1) > mostVariants) {
    return { ...mergeAtoms(reader, plain, pointer), rest: atoms.map(({ value }) => value) };
  }
  const within = new Set([...expanding, ...atoms.filter(atom => unionsOf(atom).length > 0).map(atom => atom.pointer)]);
  const variants = combine(unions).flatMap(choice => {
    const chosen = atomsOf(choice)?.map(atom => ({ ...atom, isOutermost: false }));
    const isCircular = chosen?.some(atom => within.has(atom.pointer)) ?? false;
    if (isCircular) return [];
    const read = () => shapeOf(reader, chosen && [...plain, ...chosen], pointerOf(choice), within);
    // If the schema adds no constraint to an alternative, caches the shape of the alternative, because many unions
    // refer to the same schemas.
    const isAlone = plain.every(({ value }) => Object.keys(value).every(isDescriptive));
    const isUnion = chosen?.some(atom => unionsOf(atom).length > 0);
    const shape = isAlone && !isUnion ? remember(reader, `alternative ${keyOf(choice)}`, read) : read();
    return shape.variants.length > 0 ? shape.variants : [shape];
  });
  const joined = joinVariants(variants);
  const [first, ...others] = joined;
  if (first === undefined) return mergeAtoms(reader, [impossible], pointer);
  const annotations = annotationsOf(atoms);
  const fallback = annotations.fallback ?? first.fallback;
  if (others.length === 0) {
    const fieldsPointer = fieldsPointerOf(variants) ?? pointer;
    const isDeprecated = first.isDeprecated || annotations.isDeprecated;
    return { ...first, pointer, fieldsPointer, fallback, isDeprecated };
  }
  return {
    ...mergeAtoms(reader, [], pointer),
    kinds: kinds.filter(kind => joined.some(one => one.kinds.includes(kind))),
    variants: joined,
    ...annotations,
  };
}

/** If exactly one alternative is an object, returns the JSON pointer of this alternative's fields. */
function fieldsPointerOf(variants: readonly Shape[]): string | undefined {
  const [one, ...others] = variants.filter(({ kinds }) => kinds.includes('object'));
  return others.length === 0 ? one?.fieldsPointer : undefined;
}

/**
 * Removes `anyOf` and `oneOf` from a schema. Also removes their discriminator, because it has no meaning without
 * alternatives.
 */
function withoutUnions(schema: Atom['value']): Atom['value'] {
  const { anyOf, oneOf, discriminator, ...rest } = schema;
  const hasUnion = anyOf !== undefined || oneOf !== undefined;
  return hasUnion || discriminator === undefined ? rest : { ...rest, discriminator };
}

/** Lists all combinations that contain one alternative from each union (`anyOf` or `oneOf`). */
function combine(unions: Located[][]): Located[][] {
  return unions.reduce<Located[][]>(
    (choices, union) => choices.flatMap(choice => union.map(one => [...choice, one])),
    [[]],
  );
}

/**
 * Normalizes the alternatives of a schema. Each alternative gets one type, and all lists of values become one list. If
 * all alternatives have different types, they become one schema, because each keyword concerns only one type.
 */
function joinVariants(variants: readonly Shape[]): Shape[] {
  const pieces = variants.filter(({ kinds }) => kinds.length > 0).flatMap(split);
  const hasList = pieces.some(({ values }) => values !== undefined);
  const isListed = (piece: Shape) => piece.values !== undefined || (hasList && isNull(piece));
  const lists = pieces.filter(piece => isListed(piece) && piece.rest.length === 0);
  const others = pieces.filter(piece => !lists.includes(piece));
  const nulls = others.filter(isNull);
  const kept = others.filter(piece => !isNull(piece) || piece === nulls[0]);
  const joined = lists.length > 0 ? [lists.reduce(join), ...kept] : kept;
  const isOne = joined.every(
    (piece, n) =>
      piece.values === undefined &&
      piece.rest.length === 0 &&
      joined.slice(n + 1).every(other => isDisjoint(piece.kinds, other.kinds)),
  );
  return isOne && joined.length > 1 ? [joined.reduce(join)] : joined;
}

function isNull({ kinds, values }: Shape): boolean {
  return values === undefined && kinds.length === 1 && kinds.includes('null');
}

const types = ['null', 'boolean', 'number', 'string', 'array', 'object'];

/**
 * Splits a normalized schema into a separate schema for each type. Does not split schemas with a list of values or with
 * keywords in `rest`.
 */
function split(shape: Shape): Shape[] {
  if (shape.values !== undefined || shape.rest.length > 0) return [shape];
  const kindsOf = (type: string) => shape.kinds.filter(kind => (isNumber(kind) ? 'number' : kind) === type);
  const present = types.map(kindsOf).filter(({ length }) => length > 0);
  return present.length === 1 ? [shape] : present.map(kinds => restrict(shape, kinds));
}

/** Reduces a normalized schema to the given types. Removes all keywords that concern only other types. */
function restrict(shape: Shape, kinds: readonly Kind[]): Shape {
  const left = facets.filter(({ name, kinds: limited }) => shape.limits[name] && !isDisjoint(limited, kinds));
  return {
    ...shape,
    kinds,
    limits: Object.fromEntries(left.map(({ name }) => [name, shape.limits[name] ?? []])),
    ...(kinds.includes('array') ? {} : { prefixItems: [], items: [] }),
    fields: kinds.includes('object') ? shape.fields : noFields,
  };
}

/** Joins two normalized schemas into one. The two schemas must both list their values, or have no type in common. */
function join(a: Shape, b: Shape): Shape {
  const isListed = a.values !== undefined || b.values !== undefined;
  // Merges the formats of the two schemas, because a format can belong to several types. Each other limit belongs to
  // one type.
  const format = [...new Set([...(a.limits.format ?? []), ...(b.limits.format ?? [])])].sort();
  const values = new Map([...(a.values ?? [null]), ...(b.values ?? [null])].map(one => [canonicalText(one), one]));
  return {
    ...a,
    kinds: kinds.filter(kind => a.kinds.includes(kind) || b.kinds.includes(kind)),
    values: isListed ? [...values].sort(byFirst).map(([, value]) => value) : undefined,
    limits: { ...a.limits, ...b.limits, ...(format.length > 0 && { format }) },
    ...(a.kinds.includes('array') ? {} : { prefixItems: b.prefixItems, items: b.items }),
    fields: a.kinds.includes('object') ? a.fields : b.fields,
    isDeprecated: a.isDeprecated && b.isDeprecated,
  };
}
