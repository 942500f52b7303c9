import type { Located } from '../document.ts';
import type { Json, JsonObject } from '../json.ts';

/** From the side of a client: a request is what it sends, a response is what it receives. */
export type Direction = 'request' | 'response';

/** Places that all constrain one value, as those of an `allOf` do. None: anything goes. */
export type Fragment = readonly Located[];

/** `number` is an integer or a fraction, so that sets of types are compared as sets. */
export const kinds = ['null', 'boolean', 'integer', 'fraction', 'string', 'array', 'object'] as const;
export type Kind = (typeof kinds)[number];

export const sizes = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;
export type Size = (typeof sizes)[number];

export interface Limit {
  value: number;
  isExclusive: boolean;
}

/**
 * What a schema allows, however it is written: references followed, `allOf` merged, `const` a list of one value, a null
 * beside one alternative a type of it. Two schemas that differ in writing alone have equal shapes.
 */
export interface Shape {
  /** Where the schema stands, after its reference. */
  pointer: string;
  /** Where its fields are described: somewhere else, where it is nothing but that and null. */
  fieldsPointer: string;
  kinds: ReadonlySet<Kind>;
  /** The values that are listed; undefined when any is allowed. */
  values: Json[] | undefined;
  lower: Limit | undefined;
  upper: Limit | undefined;
  sizes: ReadonlyMap<Size, number>;
  multiples: number[];
  patterns: string[];
  formats: string[];
  isUnique: boolean;
  properties: ReadonlyMap<string, Fragment>;
  required: ReadonlySet<string>;
  /** What fields must be that are not among the properties. */
  additional: Fragment;
  /** Fields that this direction does not have: readOnly in a request, writeOnly in a response; and where they stand. */
  hidden: ReadonlyMap<string, string>;
  prefixItems: Fragment[];
  items: Fragment;
  /** The alternatives. When there are any, each says all, and what stands above is that of none. */
  variants: Shape[];
  discriminator: Located | undefined;
  /** Keywords that are compared as they are written, by the schemas that they stand in. */
  rest: JsonObject[];
  fallback: Json | undefined;
  isDeprecated: boolean;
}

export function isClosed(fragment: Fragment): boolean {
  return fragment.some(({ value }) => value === false);
}

/** Whether the schema says nothing of what it is about. */
export function isOpen(fragment: Fragment): boolean {
  return fragment.every(({ value }) => value === true);
}

/** The kinds as the types of JSON Schema. */
export function typesOf(of: ReadonlySet<Kind>): string[] {
  const types = kinds
    .filter(kind => of.has(kind))
    .map(kind => (kind === 'fraction' || (kind === 'integer' && of.has('fraction')) ? 'number' : kind));
  return [...new Set<string>(types)];
}

export function kindOf(value: Json): Kind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'fraction';
  return typeof value as 'boolean' | 'string' | 'object';
}
