import { createHash } from 'node:crypto';
import { targetOf } from '../document.ts';
import { canonicalText, isObject, type Json, type JsonObject, remember } from '../json.ts';
import { facets } from './facets.ts';
import { keyOf, readShape } from './read-shape.ts';
import { type Fragment, isClosed, isOpen, kinds, type SchemaReader, type Shape, typesOf } from './shape.ts';

/** The maximum depth of fields in an identity. Schemas with equal identities may differ below this depth. */
const mostDepth = 6;
const identities = new WeakMap<Shape, string[]>();

/** Returns a text that identifies the shape of a fragment. Equivalent schemas have the same text. */
export function identityAt(reader: SchemaReader, fragment: Fragment, depth = mostDepth): string {
  return identityOf(reader, readShape(reader, fragment), depth);
}

export function identityOf(reader: SchemaReader, shape: Shape, depth = mostDepth): string {
  const known = remember(identities, shape, () => []);
  if (known[depth] !== undefined) return known[depth];
  const { variants, fallback = null, isDeprecated, rest } = shape;
  const writeChild = (child: Fragment) => (depth === 0 ? keyOf(child) : identityAt(reader, child, depth - 1));
  const alternatives = [...new Set(variants.map(one => identityOf(reader, one, depth)))].sort();
  const content = variants.length > 0 ? alternatives : writePlain(shape, rest, writeChild);
  known[depth] = createHash('sha1')
    .update(canonicalText([content, fallback, isDeprecated]))
    .digest('base64');
  return known[depth];
}

/** One entry of `rest` as a JSON Schema, with all definitions that its references need. */
export interface Constraint {
  text: string;
  keywords: JsonObject;
  definitions: JsonObject;
  /** Whether `definitions` contains all needed definitions, because they are at most `mostDefinitions`. */
  isComplete: boolean;
}

/** The maximum number of definitions in a written schema. */
const mostDefinitions = 1_000;

export function writeConstraint(reader: SchemaReader, keywords: JsonObject): Constraint {
  const waiting = new Map<string, Fragment>();
  const refer = (fragment: Fragment): Json => {
    const name = keyOf(fragment).replace(/[^A-Za-z0-9]/g, character => `_${character.charCodeAt(0).toString(16)}_`);
    if (waiting.size <= mostDefinitions) waiting.set(name, fragment);
    return { $ref: `#/$defs/${name}` };
  };
  const writeChild = (fragment: Fragment): Json => {
    const isReferred = fragment.some(({ value }) => isObject(value) && typeof value.$ref === 'string');
    return isReferred ? refer(fragment) : write(readShape(reader, fragment));
  };
  const resolve = (rest: JsonObject) => withReferences(reader, rest, refer) as JsonObject;
  const write = (shape: Shape): Json =>
    shape.variants.length > 0
      ? { anyOf: shape.variants.map(write) }
      : writePlain(shape, shape.rest.map(resolve), writeChild);
  const resolved = resolve(keywords);
  const definitions: JsonObject = {};
  // The loop also visits the definitions that are added to the list while the loop runs.
  for (const [name, fragment] of waiting) definitions[name] = write(readShape(reader, fragment));
  const isComplete = waiting.size <= mostDefinitions;
  const contents = isComplete
    ? definitions
    : Object.fromEntries([...waiting].map(([name, one]) => [name, identityAt(reader, one)]));
  return { text: canonicalText([resolved, contents]), keywords: resolved, definitions, isComplete };
}

/** Replaces each reference in the keywords of `rest` by the result of `refer`. */
function withReferences(reader: SchemaReader, value: Json, refer: (fragment: Fragment) => Json): Json {
  if (Array.isArray(value)) return value.map(one => withReferences(reader, one, refer));
  if (!isObject(value)) return value;
  const { $ref } = value;
  if (typeof $ref === 'string' && $ref.startsWith('#')) return refer([targetOf(reader.root, $ref)]);
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, withReferences(reader, one, refer)]));
}

/** Converts a shape to a JSON Schema with `constraints` from `rest`. `writeChild` writes its fields and items. */
export function writePlain(
  shape: Shape,
  constraints: readonly JsonObject[] = [],
  writeChild: (fragment: Fragment) => Json = () => true,
): JsonObject {
  const writeFragment = (fragment: Fragment) =>
    isOpen(fragment) ? true : isClosed(fragment) ? false : writeChild(fragment);
  const writeAll = (fragments: ReadonlyMap<string, Fragment>) =>
    Object.fromEntries([...fragments].map(([name, fragment]) => [name, writeFragment(fragment)]));
  const { fields, prefixItems, items } = shape;
  const written: JsonObject = {};
  if (shape.values !== undefined) written.enum = shape.values;
  else if (shape.kinds.length < kinds.length) written.type = typesOf(shape.kinds);
  if (fields.properties.size > 0) written.properties = writeAll(fields.properties);
  if (fields.required.size > 0) written.required = [...fields.required].sort();
  if (fields.additional.length > 0) written.additionalProperties = writeFragment(fields.additional);
  if (fields.patterned.size > 0) written.patternProperties = writeAll(fields.patterned);
  if (prefixItems.length > 0) written.prefixItems = prefixItems.map(writeFragment);
  if (items.length > 0) written.items = writeFragment(items);
  const limits = facets.flatMap(({ name, write }) => (shape.limits[name] ? write(shape.limits[name]) : []));
  const repeated: JsonObject[] = [];
  for (const one of [...limits, ...constraints]) {
    // An object cannot repeat a keyword, so a second constraint with the keyword goes into `allOf`.
    if (Object.keys(one).some(keyword => Object.hasOwn(written, keyword))) repeated.push(one);
    else Object.assign(written, one);
  }
  return repeated.length > 0 ? { ...written, allOf: repeated } : written;
}
