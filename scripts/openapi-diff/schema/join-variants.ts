import { byFirst, canonicalText } from '../json.ts';
import {
  isDisjoint,
  isNumber,
  type Kind,
  kindOfSize,
  kinds,
  noFields,
  noLists,
  noNumbers,
  type Shape,
  type Size,
} from './shape.ts';

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
  const isNumeric = kinds.some(isNumber);
  const isText = kinds.includes('string');
  return {
    ...shape,
    kinds,
    numbers: isNumeric ? shape.numbers : noNumbers,
    sizes: Object.fromEntries(Object.entries(shape.sizes).filter(([size]) => kinds.includes(kindOfSize(size as Size)))),
    patterns: isText ? shape.patterns : [],
    formats: shape.formats.filter(format => (numericFormats.has(format) ? isNumeric : isText)),
    lists: kinds.includes('array') ? shape.lists : noLists,
    fields: kinds.includes('object') ? shape.fields : noFields,
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
    numbers: a.kinds.some(isNumber) ? a.numbers : b.numbers,
    sizes: { ...a.sizes, ...b.sizes },
    patterns: [...a.patterns, ...b.patterns].sort(),
    formats: [...a.formats, ...b.formats].sort(),
    lists: a.kinds.includes('array') ? a.lists : b.lists,
    fields: a.kinds.includes('object') ? a.fields : b.fields,
    isDeprecated: a.isDeprecated && b.isDeprecated,
  };
}
