import type { Located } from '../document.ts';
import type { Json, JsonObject } from '../json.ts';

/** The direction of the data. A client sends data in requests and receives data in responses. */
export type Direction = 'request' | 'response';

/** Several schemas that a value must all satisfy, such as the parts of an `allOf`. An empty list allows every value. */
export type Fragment = readonly Located[];

/** The types of a value. `number` is split into integer and fraction, so that types can be compared as sets. */
export const kinds = ['null', 'boolean', 'integer', 'fraction', 'string', 'array', 'object'] as const;
export type Kind = (typeof kinds)[number];

/** The limits of one facet, such as the length of a text. An empty list allows every value. */
export type Limits = readonly (number | string)[];

/** The constraints on the fields of objects. */
export interface Fields {
  properties: ReadonlyMap<string, Fragment>;
  required: ReadonlySet<string>;
  /** The schema of all fields that `properties` does not list. */
  additional: Fragment;
  /** The schemas of all fields that match a pattern (`patternProperties`). */
  patterned: ReadonlyMap<string, Fragment>;
  /** The JSON pointers of the fields that are not sent: readOnly fields of requests, writeOnly fields of responses. */
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
 * the schema is a union of null and one other schema, null becomes one of that schema's types. Equivalent schemas have
 * equal shapes.
 */
export interface Shape {
  /** The JSON pointer of the schema, or of the target if the schema is only a reference. */
  pointer: string;
  /** The JSON pointer of the schema that contains the fields, for example in a union of null and a reference. */
  fieldsPointer: string;
  /** The allowed types, in the order of the constant `kinds`. */
  kinds: readonly Kind[];
  /** The allowed values if the schema lists them (`enum`, `const`). */
  values: Json[] | undefined;
  /** The limits by the name of their facet. A facet that limits nothing has no entry. */
  limits: Readonly<Record<string, Limits>>;
  prefixItems: readonly Fragment[];
  /** The schema of the items after `prefixItems`. */
  items: Fragment;
  fields: Fields;
  /** The alternatives of the schema (`anyOf`, `oneOf`). Each alternative contains all constraints of the schema. */
  variants: Shape[];
  discriminator: Located | undefined;
  /** The keywords without a property in `Shape`. The library jsoncompat judges whether their change is safe. */
  rest: JsonObject[];
  fallback: Json | undefined;
  isDeprecated: boolean;
}

/** Reads the schemas of one document for one direction, and caches their shapes. */
export interface SchemaReader {
  root: Located;
  shapes: Map<string, Shape>;
  /** The keyword of fields that are never sent in this direction. Undefined if the document does not use it. */
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
  return [...new Set(of.map(kind => (isNumber(kind) && of.includes('fraction') ? 'number' : kind)))];
}

export function kindOf(value: Json): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'fraction';
  return typeof value as 'boolean' | 'string' | 'object';
}
