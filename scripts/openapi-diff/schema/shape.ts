import type { Located, OpenApiDocument } from '../document.ts';
import type { Json, JsonObject } from '../json.ts';

/** The direction of the data. A client sends data in requests and receives data in responses. */
export type Direction = 'request' | 'response';

/** Several schemas that a value must all satisfy, such as the parts of an `allOf`. An empty list allows every value. */
export type Fragment = readonly Located[];

/** The types of a value. `number` is split into integer and fraction, so that types can be compared as sets. */
export const kinds = ['null', 'boolean', 'integer', 'fraction', 'string', 'array', 'object'] as const;
export type Kind = (typeof kinds)[number];

export const sizes = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;
export type Size = (typeof sizes)[number];

export interface Limit {
  value: number;
  isExclusive: boolean;
}

/** The constraints on numbers. */
export interface Numbers {
  lower: Limit | undefined;
  upper: Limit | undefined;
  multiples: readonly number[];
}

/** The constraints on arrays, apart from their lengths. */
export interface Lists {
  isUnique: boolean;
  prefixItems: readonly Fragment[];
  items: Fragment;
}

/** The constraints on objects, apart from the number of their fields. */
export interface Fields {
  properties: ReadonlyMap<string, Fragment>;
  required: ReadonlySet<string>;
  /** The schema of all fields that `properties` does not list. */
  additional: Fragment;
  /** The schemas of all fields that match a pattern (`patternProperties`). */
  patterned: ReadonlyMap<string, Fragment>;
  /**
   * The pointers of fields that are never sent in this direction: readOnly fields in a request, writeOnly fields in a
   * response.
   */
  hidden: ReadonlyMap<string, string>;
}

// Shared objects for schemas of one type. Most schemas have one type, and large documents have very many of them.
export const noNumbers: Numbers = { lower: undefined, upper: undefined, multiples: [] };
export const noLists: Lists = { isUnique: false, prefixItems: [], items: [] };
export const noMap: ReadonlyMap<string, never> = new Map<string, never>();
export const noFields: Fields = {
  properties: noMap,
  required: new Set(),
  additional: [],
  patterned: noMap,
  hidden: noMap,
};

/**
 * The normalized form of a schema. References are resolved, `allOf` is merged, and `const` is a list of one value. If
 * null is an alternative beside one schema, it becomes one of that schema's types. Equivalent schemas have equal
 * shapes.
 */
export interface Shape {
  /** The pointer of the schema. If the schema is only a reference, the pointer of its target. */
  pointer: string;
  /**
   * The pointer of the fields. It differs from `pointer` if the schema is only a reference with null as an alternative.
   */
  fieldsPointer: string;
  /** The allowed types, in the order of `kinds`. */
  kinds: readonly Kind[];
  /** The listed values. Undefined if every value is allowed. */
  values: Json[] | undefined;
  numbers: Numbers;
  sizes: Readonly<Partial<Record<Size, number>>>;
  patterns: readonly string[];
  formats: readonly string[];
  lists: Lists;
  fields: Fields;
  /** The alternatives. If there are alternatives, each of them is complete and the parts above are empty. */
  variants: Shape[];
  discriminator: Located | undefined;
  /** The keywords that have no property of their own in `Shape`. The library jsoncompat judges changes of them. */
  rest: JsonObject[];
  fallback: Json | undefined;
  isDeprecated: boolean;
}

/** A document, the cache of its normalized schemas, and the keyword of fields that are never sent in this direction. */
export interface SchemaReader {
  document: OpenApiDocument;
  shapes: Map<string, Shape>;
  /** Undefined if the document does not contain the keyword. */
  marker: 'readOnly' | 'writeOnly' | undefined;
}

export function isClosed(fragment: Fragment): boolean {
  return fragment.some(({ value }) => value === false);
}

/** Whether the schema has no constraint. */
export function isOpen(fragment: Fragment): boolean {
  return fragment.every(({ value }) => value === true);
}

export function isNumber(kind: Kind): boolean {
  return kind === 'integer' || kind === 'fraction';
}

/** Returns the type whose values a keyword such as `maxLength` limits. */
export function kindOfSize(size: Size): Kind {
  return size.endsWith('Length') ? 'string' : size.endsWith('Items') ? 'array' : 'object';
}

/** Whether two lists of types have no type in common. */
export function isDisjoint(some: readonly Kind[], others: readonly Kind[]): boolean {
  return !some.some(kind => others.includes(kind));
}

export function typesOf(of: readonly Kind[]): string[] {
  const types = of.map(kind =>
    kind === 'fraction' || (kind === 'integer' && of.includes('fraction')) ? 'number' : kind,
  );
  return [...new Set<string>(types)];
}

export function kindOf(value: Json): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'fraction';
  return typeof value as 'boolean' | 'string' | 'object';
}
