import type { z } from 'zod';
import { type Json, toJsonSchema } from '../../contract/openapi/json-schema.ts';

/*
 * Shortens the schemas of the API contract for the list of tools. A client puts the whole list into the prompt of a
 * language model.
 */

/**
 * Turns the fields of an object schema into a tool's arguments: their schemas by name, and the names of the required
 * arguments.
 */
export function argumentsOf(schema: z.ZodObject): { properties: Record<string, Json>; required: string[] } {
  const { properties = {}, required = [] } = toJsonSchema(schema, 'input') as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  const shortened = Object.entries(properties).map(([name, property]): [string, Json] => [name, argument(property)]);
  return { properties: Object.fromEntries(shortened), required };
}

/**
 * Keeps only the schema keywords that help a language model to fill in an argument. The limits of text lengths are left
 * out, because the server checks the lengths.
 */
function argument({ type, enum: values, const: constant, items, minimum, maximum, description }: Json): Json {
  // Keywords with the value undefined do not appear in the JSON.
  return {
    type,
    enum: values,
    const: constant,
    items: items && argument(items as Json),
    minimum,
    maximum,
    description,
  };
}

/**
 * Returns the output schema of a tool: the types and names of the result's fields. The schema allows additional fields,
 * because the server may add fields to a result within API version 1.
 */
export function typesOf(schema: unknown, fields?: readonly string[]): { type: 'object'; [keyword: string]: unknown } {
  const types = terse(toJsonSchema(schema, 'output') ?? {}, fields);
  if (types.type !== 'object') throw new Error('The result of a tool is not an object');
  return types as { type: 'object' };
}

function terse({ type, anyOf, items, properties }: Json, fields: readonly string[] | undefined): Json {
  if (anyOf) {
    const variants = anyOf as Json[];
    const whole = terse(merge(variants.filter(one => one.type !== 'null')), fields);
    return variants.some(one => one.type === 'null') ? { ...whole, type: [whole.type, 'null'] } : whole;
  }
  if (properties) {
    const listed = Object.entries(properties as Record<string, Json>).filter(
      ([name]) => fields?.includes(name) ?? true,
    );
    return { type, properties: Object.fromEntries(listed.map(([name, one]) => [name, terse(one, fields)])) };
  }
  if (items) return { type, items: terse(items as Json, fields) };
  if (type === undefined) throw new Error('A field of a result has no single type');
  return { type };
}

/** Merges variants of a schema, such as the types of events, into one schema with the fields of all variants. */
function merge(variants: Json[]): Json {
  const [first = {}, ...others] = new Map(variants.map(one => [JSON.stringify(one), one])).values();
  if (others.length === 0) return first;
  const all = [first, ...others];
  const objects = all.flatMap(one => (one.properties as Record<string, Json> | undefined) ?? []);
  if (objects.length < all.length) return all.every(one => one.type === first.type) ? { type: first.type } : {};
  const names = new Set(objects.flatMap(properties => Object.keys(properties)));
  const properties = [...names].map(name => [name, { anyOf: objects.flatMap(one => one[name] ?? []) }]);
  return { type: 'object', properties: Object.fromEntries(properties) };
}

/**
 * Returns the paths of a result's fields that contain text by users, such as `data[].title`. The contract marks
 * these fields.
 */
export function userTextOf(schema: unknown): string[] {
  const found: string[] = [];
  const search = (one: Json, path: string) => {
    if (one['x-user-text'] === true) found.push(path);
    for (const [name, field] of Object.entries((one.properties ?? {}) as Record<string, Json>)) {
      search(field, path === '' ? name : `${path}.${name}`);
    }
    if (one.items) search(one.items as Json, `${path}[]`);
    for (const variant of (one.anyOf ?? []) as Json[]) search(variant, path);
  };
  search(toJsonSchema(schema, 'output') ?? {}, '');
  // Removes duplicates, because several variants of a schema may have the same field.
  return [...new Set(found)];
}
