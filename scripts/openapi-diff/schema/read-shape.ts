import type { Located } from '../document.ts';
import { canonicalText, isObject, remember, sortedBy } from '../json.ts';
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
  const read = () => shapeOf(reader, atomsOf(fragment), pointerOf(fragment), new Set());
  return remember(reader.shapes, keyOf(fragment), read);
}

/** Returns a key that identifies a fragment within its document. A bare reference has the key of its target. */
export function keyOf(fragment: Fragment): string {
  const isBareReference = ({ value }: Located) =>
    isObject(value) && typeof value.$ref === 'string' && Object.keys(value).length === 1;
  return fragment.map(part => (isBareReference(part) ? pointerOf([part]) : part.pointer)).join(' ');
}

/** The maximum number of combinations of alternatives (`anyOf`, `oneOf`) that the comparison builds for one schema. */
const mostVariants = 256;

/** Returns the shape of atoms. `outer` contains the JSON pointers of the unions around the atoms. */
function shapeOf(reader: SchemaReader, atoms: Atom[] | undefined, pointer: string, outer: ReadonlySet<string>): Shape {
  const impossible = { ...reader.root, value: { enum: [] }, pointer, isOutermost: false };
  if (atoms === undefined) return mergeAtoms(reader, [impossible], pointer);
  const plain = atoms.map(atom => ({ ...atom, value: withoutUnions(atom.value) }));
  const unions = atoms.flatMap(atom => (outer.has(atom.pointer) ? [] : unionsOf(atom)));
  if (unions.length === 0) return mergeAtoms(reader, plain, pointer);
  if (unions.reduce((product, union) => product * union.length, 1) > mostVariants) {
    return { ...mergeAtoms(reader, plain, pointer), rest: atoms.map(({ value }) => value) };
  }
  const within = new Set([...outer, ...atoms.filter(atom => unionsOf(atom).length > 0).map(atom => atom.pointer)]);
  // If the schema adds no constraint to an alternative, caches the shape of the alternative, because many unions refer
  // to the same schemas.
  const isAlone = plain.every(({ value }) => Object.keys(value).every(isDescriptive));
  const variants = combine(unions).flatMap(choice => {
    const chosen = atomsOf(choice)?.map(atom => ({ ...atom, isOutermost: false }));
    const isCircular = chosen?.some(atom => within.has(atom.pointer));
    if (isCircular) return [];
    const read = () => shapeOf(reader, chosen && [...plain, ...chosen], pointerOf(choice), within);
    const isUnion = chosen?.some(atom => unionsOf(atom).length > 0);
    const shape = isAlone && !isUnion ? remember(reader.shapes, `alternative ${keyOf(choice)}`, read) : read();
    return shape.variants.length > 0 ? shape.variants : [shape];
  });
  const joined = joinVariants(variants);
  const [first, ...others] = joined;
  if (first === undefined) return mergeAtoms(reader, [impossible], pointer);
  const annotations = annotationsOf(atoms);
  const fallback = annotations.fallback ?? first.fallback;
  if (others.length === 0) {
    const objects = variants.filter(({ kinds }) => kinds.includes('object'));
    const fieldsPointer = (objects.length === 1 && objects[0]?.fieldsPointer) || pointer;
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

/** Whether a keyword does not change the normalized schema (shape). */
function isDescriptive(keyword: string): boolean {
  return isAnnotation(keyword) && !['default', 'deprecated', 'discriminator'].includes(keyword);
}

/** Removes `anyOf` and `oneOf` from a schema, and their discriminator, which has no meaning without alternatives. */
function withoutUnions(schema: Atom['value']): Atom['value'] {
  const { anyOf, oneOf, discriminator, ...rest } = schema;
  const hasUnion = anyOf !== undefined || oneOf !== undefined;
  return hasUnion || discriminator === undefined ? rest : { ...rest, discriminator };
}

/** Lists all combinations that contain one alternative from each union (`anyOf` or `oneOf`). */
function combine([first, ...others]: Located[][]): Located[][] {
  if (first === undefined) return [[]];
  return first.flatMap(one => combine(others).map(choice => [one, ...choice]));
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

/** Splits a schema into a separate schema for each type, unless it has a list of values or keywords in `rest`. */
function split(shape: Shape): Shape[] {
  if (shape.values !== undefined || shape.rest.length > 0) return [shape];
  const byType = new Map<string, Kind[]>();
  for (const kind of shape.kinds) remember(byType, isNumber(kind) ? 'number' : kind, () => []).push(kind);
  return byType.size === 1 ? [shape] : [...byType.values()].map(kinds => restrict(shape, kinds));
}

/** Reduces a schema to the given types. Removes all keywords that concern only other types. */
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

/** Joins two schemas into one. The two schemas must both list their values, or have no type in common. */
function join(a: Shape, b: Shape): Shape {
  const isListed = a.values !== undefined || b.values !== undefined;
  // Merges the formats of the two schemas, because a format can belong to several types. Each other limit belongs to
  // one type.
  const format = [...new Set([...(a.limits.format ?? []), ...(b.limits.format ?? [])])].sort();
  const values = new Map([...(a.values ?? [null]), ...(b.values ?? [null])].map(one => [canonicalText(one), one]));
  return {
    ...a,
    kinds: kinds.filter(kind => a.kinds.includes(kind) || b.kinds.includes(kind)),
    values: isListed ? sortedBy(values.values(), canonicalText) : undefined,
    limits: { ...a.limits, ...b.limits, ...(format.length > 0 && { format }) },
    ...(a.kinds.includes('array') ? {} : { prefixItems: b.prefixItems, items: b.items }),
    fields: a.kinds.includes('object') ? a.fields : b.fields,
    isDeprecated: a.isDeprecated && b.isDeprecated,
  };
}
