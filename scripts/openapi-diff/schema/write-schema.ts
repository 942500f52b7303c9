import { targetOf } from '../document.ts';
import { byFirst, canonicalText, isObject, type Json, type JsonObject } from '../json.ts';
import { keyOf, readShape, type SchemaReader } from './read-shape.ts';
import { type Fragment, isClosed, kinds, type Limit, type Shape, typesOf } from './shape.ts';

/**
 * Writes a shape as a self-contained JSON Schema with `$defs`. Equal shapes give equal schemas, except for the names in
 * `$defs`.
 */
export function writeSchema(reader: SchemaReader, shape: Shape): JsonObject {
  const definitions = new Map<string, Json>();
  const schema = writeShape({ reader, definitions }, shape);
  if (definitions.size === 0) return schema;
  return { ...schema, $defs: Object.fromEntries([...definitions].sort(byFirst)) };
}

interface Writer {
  reader: SchemaReader;
  definitions: Map<string, Json>;
}

function writeFragment(writer: Writer, fragment: Fragment): Json {
  if (fragment.length === 0) return true;
  if (isClosed(fragment)) return false;
  const isReferred = fragment.some(({ value }) => isObject(value) && typeof value.$ref === 'string');
  return isReferred ? refer(writer, fragment) : writeShape(writer, readShape(writer.reader, fragment));
}

/** Writes a reference to a schema. Each schema is written once, by name, because a schema may contain itself. */
function refer(writer: Writer, fragment: Fragment): Json {
  const shape = readShape(writer.reader, fragment);
  const from = keyOf(writer.reader, fragment);
  const name = from.replace(/[^A-Za-z0-9]/g, character => `_${character.charCodeAt(0).toString(16)}_`);
  if (!writer.definitions.has(name)) {
    writer.definitions.set(name, true);
    writer.definitions.set(name, writeShape(writer, shape));
  }
  return { $ref: `#/$defs/${name}` };
}

function writeShape(writer: Writer, shape: Shape): JsonObject {
  const constraints = shape.variants.length > 0 ? writeUnion(writer, shape) : writePlain(writer, shape);
  const { fallback, isDeprecated } = shape;
  return {
    ...constraints,
    ...(fallback === undefined ? {} : { default: fallback }),
    ...(isDeprecated ? { deprecated: true } : {}),
  };
}

/**
 * Writes alternatives as `anyOf`. `oneOf` would also require that only one alternative matches, but clients do not
 * depend on that.
 */
function writeUnion(writer: Writer, shape: Shape): JsonObject {
  const variants = shape.variants.map(variant => writeShape(writer, variant));
  const sorted = new Map(variants.map(variant => [canonicalText(variant), variant]));
  return { anyOf: [...sorted].sort(byFirst).map(([, variant]) => variant) };
}

function writePlain(writer: Writer, shape: Shape): JsonObject {
  const written: JsonObject = { ...writeLimits(shape), ...Object.fromEntries(shape.sizes) };
  if (shape.values !== undefined) written.enum = shape.values;
  else if (shape.kinds.size < kinds.length) written.type = typesOf(shape.kinds);
  if (shape.isUnique) written.uniqueItems = true;
  if (shape.properties.size > 0) {
    const properties = [...shape.properties].map(([name, fragment]): [string, Json] => [
      name,
      writeFragment(writer, fragment),
    ]);
    written.properties = Object.fromEntries(properties.sort(byFirst));
  }
  if (shape.required.size > 0) written.required = [...shape.required].sort();
  if (shape.additional.length > 0) written.additionalProperties = writeFragment(writer, shape.additional);
  if (shape.prefixItems.length > 0) written.prefixItems = shape.prefixItems.map(one => writeFragment(writer, one));
  if (shape.items.length > 0) written.items = writeFragment(writer, shape.items);
  const repeated = [
    ...shape.multiples.map(multipleOf => ({ multipleOf })),
    ...shape.patterns.map(pattern => ({ pattern })),
    ...shape.formats.map(format => ({ format })),
    ...shape.rest.map(rest => withReferences(writer, rest)),
  ];
  if (repeated.length === 0) return written;
  const [first, ...others] = repeated;
  // Keywords such as `then` depend on other keywords of the same schema, so the keywords of one schema stay together.
  if (others.length === 0 && isObject(first)) return { ...written, ...first };
  return { ...written, allOf: repeated };
}

function writeLimits({ lower, upper }: Shape): JsonObject {
  const written: JsonObject = {};
  const write = (limit: Limit | undefined, keyword: string, exclusiveKeyword: string) => {
    if (limit) written[limit.isExclusive ? exclusiveKeyword : keyword] = limit.value;
  };
  write(lower, 'minimum', 'exclusiveMinimum');
  write(upper, 'maximum', 'exclusiveMaximum');
  return written;
}

/** Writes the keywords in `rest`, which may contain references. */
function withReferences(writer: Writer, value: JsonObject): JsonObject {
  const visit = (one: Json): Json => {
    if (Array.isArray(one)) return one.map(visit);
    if (!isObject(one)) return one;
    if (typeof one.$ref === 'string' && one.$ref.startsWith('#')) {
      return refer(writer, [targetOf(writer.reader.document, one.$ref, '#')]);
    }
    return Object.fromEntries(Object.entries(one).map(([key, member]) => [key, visit(member)]));
  };
  return visit(value) as JsonObject;
}
