import { type JsonObject, quote } from '../json.ts';
import type { Atom } from './atoms.ts';
import type { Kind, Limits } from './shape.ts';

/** A way to limit values, such as their length. */
export interface Facet {
  name: string;
  /** The types of the values that the facet limits, such as `string`. */
  kinds: readonly Kind[];
  rule: 'type' | 'bound' | 'format' | 'pattern';
  verb: 'is' | 'has' | 'matches';
  /** Reads the limits from several schema objects that all apply to the same value, and merges them. */
  read: (atoms: readonly Atom[], isInteger: boolean) => Limits;
  text: (limits: Limits) => string;
  /** Whether the limits in `some` refuse a value that the limits in `others` allow. */
  refuses: (some: Limits, others: Limits) => boolean;
  /** Writes the limits as keywords of JSON Schema. */
  write: (limits: Limits) => JsonObject[];
}

/** Returns the facet for a minimum or a maximum of a number, a length or a count. */
function boundOf(name: string, kinds: readonly Kind[], unit?: string): Facet {
  const isMinimum = name.startsWith('min');
  // With the sign -1, a maximum is handled like a minimum of the negated numbers.
  const sign = isMinimum ? 1 : -1;
  const exclusive = isMinimum ? 'exclusiveMinimum' : 'exclusiveMaximum';
  return {
    name,
    kinds,
    rule: 'bound',
    verb: unit ? 'has' : 'is',
    read: (atoms, isInteger) => {
      const inclusive = numbersAt(atoms, name).map(value => sign * value);
      const others = unit ? [] : numbersAt(atoms, exclusive).map(value => sign * value);
      // Converts exclusive bounds of integers to inclusive bounds. For example, "above 0" means the same as "at least
      // 1".
      const bounds = isInteger
        ? [...inclusive.map(Math.ceil), ...others.map(value => Math.floor(value) + 1)].map(value => [value])
        : [...inclusive.map(value => [value]), ...others.map(value => [value, 1])];
      const [value, ...isExclusive] = bounds.sort(([a = 0, c = 0], [b = 0, d = 0]) => b - a || d - c)[0] ?? [];
      return value === undefined || (unit && isMinimum && value === 0) ? [] : [sign * value + 0, ...isExclusive];
    },
    text: ([value, isExclusive]) => {
      if (value === undefined) return unit ? `any number of ${unit}` : 'without bound';
      const [atLeast, above] = isMinimum ? ['at least', 'above'] : ['at most', 'below'];
      return `${isExclusive ? above : atLeast} ${value}${unit ? ` ${unit}` : ''}`;
    },
    refuses: ([value, isExclusive], [other, isOtherExclusive]) => {
      if (value === undefined || other === undefined) return value !== undefined;
      const difference = sign * (Number(value) - Number(other));
      return difference > 0 || (difference === 0 && isExclusive !== undefined && isOtherExclusive === undefined);
    },
    write: ([value = 0, isExclusive]) => [{ [isExclusive ? exclusive : name]: value }],
  };
}

const numbers = ['integer', 'fraction'] as const;

const multiples: Facet = {
  name: 'multipleOf',
  kinds: numbers,
  rule: 'bound',
  verb: 'is',
  read: (atoms, isInteger) => distinct(numbersAt(atoms, 'multipleOf').filter(one => one !== 1 || !isInteger)),
  text: factors => (factors.length === 0 ? 'any number' : `a multiple of ${factors.join(' and ')}`),
  refuses: (some, others) => !some.every(one => others.some(other => Number.isInteger(Number(other) / Number(one)))),
  write: factors => factors.map(multipleOf => ({ multipleOf })),
};

const uniqueness: Facet = {
  name: 'uniqueItems',
  kinds: ['array'],
  rule: 'bound',
  verb: 'has',
  read: atoms => (atoms.some(({ value }) => value.uniqueItems === true) ? ['unique'] : []),
  text: limits => (limits.length > 0 ? 'only unique items' : 'any items'),
  refuses: (some, others) => some.length > others.length,
  write: () => [{ uniqueItems: true }],
};

/** The code cannot decide whether one pattern includes another, so a changed pattern is never additive. */
const patterns: Facet = {
  name: 'pattern',
  kinds: ['string'],
  rule: 'pattern',
  verb: 'matches',
  read: atoms => textsAt(atoms, 'pattern'),
  text: expressions => expressions.map(one => quote(String(one))).join(' and ') || 'anything',
  refuses: (some, others) => some.some(one => !others.includes(one)),
  write: expressions => expressions.map(pattern => ({ pattern })),
};

/** For each format, the format that includes all its values and further values. */
const widerFormats: Readonly<Record<string, string>> = { int32: 'int64', float: 'double' };

const formats: Facet = {
  name: 'format',
  kinds: ['string', ...numbers],
  rule: 'format',
  verb: 'has',
  read: atoms => [
    ...textsAt(atoms, 'format'),
    ...['contentEncoding', 'contentMediaType'].flatMap(key => textsAt(atoms, key).map(one => `${key} ${one}`)),
  ],
  text: names =>
    names.length === 0 ? 'no format' : `the format ${names.map(one => quote(String(one))).join(' and ')}`,
  refuses: (some, others) => !some.every(name => others.some(other => other === name || widerFormats[other] === name)),
  write: names => names.map(format => ({ format })),
};

/** All ways to limit values, except by the type. */
export const facets: readonly Facet[] = [
  boundOf('minLength', ['string'], 'characters'),
  boundOf('maxLength', ['string'], 'characters'),
  boundOf('minItems', ['array'], 'items'),
  boundOf('maxItems', ['array'], 'items'),
  boundOf('minProperties', ['object'], 'fields'),
  boundOf('maxProperties', ['object'], 'fields'),
  boundOf('minimum', numbers),
  boundOf('maximum', numbers),
  multiples,
  uniqueness,
  patterns,
  formats,
];

function numbersAt(atoms: readonly Atom[], keyword: string): number[] {
  return atoms.map(({ value }) => value[keyword]).filter(value => typeof value === 'number');
}

function textsAt(atoms: readonly Atom[], keyword: string): string[] {
  return distinct(atoms.map(({ value }) => value[keyword]).filter(value => typeof value === 'string'));
}

function distinct<Value extends number | string>(values: readonly Value[]): Value[] {
  return [...new Set(values)].sort((a, b) => (a < b ? -1 : 1));
}
