import type { Located } from '../document.ts';
import type { Json, JsonObject } from '../json.ts';

/** The direction from the side of a client: it sends requests and receives responses. */
export type Direction = 'request' | 'response';

/** Places that all constrain one value, such as the parts of an `allOf`. Empty: no constraint. */
export type Fragment = readonly Located[];

/** `number` is split into integer and fraction, so that types can be compared as sets. */
export const kinds = ['null', 'boolean', 'integer', 'fraction', 'string', 'array', 'object'] as const;
export type Kind = (typeof kinds)[number];

export const sizes = ['minLength', 'maxLength', 'minItems', 'maxItems', 'minProperties', 'maxProperties'] as const;
export type Size = (typeof sizes)[number];

export interface Limit {
  value: number;
  isExclusive: boolean;
}

/**
 * The normalized form of a schema: references are resolved, `allOf` is merged, `const` is a list of one value, and null
 * beside one alternative is one of its types. Equivalent schemas have equal shapes.
 */
export interface Shape {
  /** The place of the schema, after its reference. */
  pointer: string;
  /** The place of its fields. It is elsewhere if the schema is only a reference with null. */
  fieldsPointer: string;
  kinds: ReadonlySet<Kind>;
  /** The listed values. Undefined: any value. */
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
  /** The schema of additional fields. */
  additional: Fragment;
  /** Fields that this direction omits, with their places: readOnly in a request, writeOnly in a response. */
  hidden: ReadonlyMap<string, string>;
  prefixItems: Fragment[];
  items: Fragment;
  /** The alternatives. If there are any, each is complete, and the parts above are empty. */
  variants: Shape[];
  discriminator: Located | undefined;
  /** Keywords that are compared literally, by their schemas. */
  rest: JsonObject[];
  fallback: Json | undefined;
  isDeprecated: boolean;
}

export function isClosed(fragment: Fragment): boolean {
  return fragment.some(({ value }) => value === false);
}

/** Whether the schema has no constraint. */
export function isOpen(fragment: Fragment): boolean {
  return fragment.every(({ value }) => value === true);
}

/** Converts kinds to types of JSON Schema. */
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
