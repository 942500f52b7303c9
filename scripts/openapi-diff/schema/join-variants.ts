import { byFirst, canonicalText } from '../json.ts';
import { isDisjoint, type Kind, kinds, type Shape, type Size } from './shape.ts';

/**
 * Normalizes the alternatives of a schema. Each alternative gets one type, and all lists of values become one list. If
 * all alternatives have different types, they become one schema, because each keyword concerns only one type.
 */
export function joinVariants(variants: readonly Shape[]): Shape[] {
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

const groups: readonly (readonly Kind[])[] = [
  ['null'],
  ['boolean'],
  ['integer', 'fraction'],
  ['string'],
  ['array'],
  ['object'],
];

/**
 * Splits a normalized schema into one schema for each type. Schemas with a list of values or with keywords in `rest`
 * are not split.
 */
function split(shape: Shape): Shape[] {
  if (shape.values !== undefined || shape.rest.length > 0) return [shape];
  const present = groups
    .map(group => group.filter(kind => shape.kinds.includes(kind)))
    .filter(({ length }) => length > 0);
  return present.length === 1 ? [shape] : present.map(kinds => restrict(shape, kinds));
}

const numericFormats = new Set(['int32', 'int64', 'float', 'double']);

/** Reduces a normalized schema to these types and their keywords. */
function restrict(shape: Shape, kinds: readonly Kind[]): Shape {
  const isNumeric = kinds.includes('integer') || kinds.includes('fraction');
  const [isText, isList, isObject] = [kinds.includes('string'), kinds.includes('array'), kinds.includes('object')];
  const isOfKind = (size: Size) => (size.endsWith('Length') ? isText : size.endsWith('Items') ? isList : isObject);
  return {
    ...shape,
    kinds,
    lower: isNumeric ? shape.lower : undefined,
    upper: isNumeric ? shape.upper : undefined,
    multiples: isNumeric ? shape.multiples : [],
    sizes: new Map([...shape.sizes].filter(([size]) => isOfKind(size))),
    patterns: isText ? shape.patterns : [],
    formats: shape.formats.filter(format => (numericFormats.has(format) ? isNumeric : isText)),
    isUnique: isList && shape.isUnique,
    prefixItems: isList ? shape.prefixItems : [],
    items: isList ? shape.items : [],
    properties: isObject ? shape.properties : new Map(),
    required: isObject ? shape.required : new Set(),
    additional: isObject ? shape.additional : [],
    patterned: isObject ? shape.patterned : new Map(),
    hidden: isObject ? shape.hidden : new Map(),
  };
}

/** Joins two normalized schemas that both list their values, or that have no common type. */
function join(a: Shape, b: Shape): Shape {
  const isListed = a.values !== undefined || b.values !== undefined;
  const values = new Map([...(a.values ?? [null]), ...(b.values ?? [null])].map(one => [canonicalText(one), one]));
  return {
    ...a,
    kinds: kinds.filter(kind => a.kinds.includes(kind) || b.kinds.includes(kind)),
    values: isListed ? [...values].sort(byFirst).map(([, value]) => value) : undefined,
    lower: a.lower ?? b.lower,
    upper: a.upper ?? b.upper,
    sizes: new Map([...a.sizes, ...b.sizes]),
    multiples: [...a.multiples, ...b.multiples],
    patterns: [...a.patterns, ...b.patterns].sort(),
    formats: [...a.formats, ...b.formats].sort(),
    isUnique: a.isUnique || b.isUnique,
    properties: new Map([...a.properties, ...b.properties]),
    required: new Set([...a.required, ...b.required]),
    additional: [...a.additional, ...b.additional],
    patterned: new Map([...a.patterned, ...b.patterned]),
    hidden: new Map([...a.hidden, ...b.hidden]),
    prefixItems: [...a.prefixItems, ...b.prefixItems],
    items: [...a.items, ...b.items],
    isDeprecated: a.isDeprecated && b.isDeprecated,
  };
}
