import type { Located } from '../document.ts';
import type { Json, JsonObject } from '../json.ts';

/** The direction of the data. A client sends data in requests and receives data in responses. */
export type Direction = 'request' | 'response';

/** Several schemas that a value must all satisfy, such as the parts of an `allOf`. An empty list allows every value. */
export type Fragment = readonly Located[];

/** The types of a value. `number` is split into integer and fraction, so that types can be compared as sets. */
export const kinds = ['null', 'boolean', 'integer', 'fraction', 'string', 'array', 'object'] as const;
export type Kind = (typeof kinds)[number];

/** The limits of one facet, which is a way to limit values, such as their length. An empty list allows every value. */
export type Limits = readonly (number | string)[];

/** The constraints on the fields of objects. */
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

// Most schemas have no fields. To save memory, their normalized schemas (shapes) share these empty objects.
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
  /** The limits of the values, by the name of the facet. Facets that limit nothing are left out. */
  limits: Readonly<Record<string, Limits>>;
  prefixItems: readonly Fragment[];
  /** The schema of the items after `prefixItems`. */
  items: Fragment;
  fields: Fields;
  /**
   * The alternatives of the schema (`anyOf`, `oneOf`). If there are any, each alternative is a complete shape, and the
   * other properties of this shape are empty.
   */
  variants: Shape[];
  discriminator: Located | undefined;
  /** The keywords that have no property of their own in `Shape`. The library jsoncompat judges changes of them. */
  rest: JsonObject[];
  fallback: Json | undefined;
  isDeprecated: boolean;
}

/** The schemas of a document that were already read, and the keyword of the fields that this direction never sends. */
export interface SchemaReader {
  root: Located;
  shapes: Map<string, Shape>;
  /**
   * The keyword that marks the fields that this direction never sends. Undefined if the document does not use this
   * keyword.
   */
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
