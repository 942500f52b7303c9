import { isObject, type Json, type JsonObject } from './json.ts';

/** The members whose keys are names that the author of the document chose, and not keywords of OpenAPI. */
const maps = new Set(['properties', 'schemas', 'responses', 'parameters', 'headers', 'paths', 'content', 'callbacks']);

/** The members that contain plain values and not schemas. The translation must not change these values. */
const values = new Set(['default', 'enum', 'example', 'examples']);

/**
 * Translates an OpenAPI 3.0 document to 3.1, but does not change the field `openapi`. In OpenAPI 3.0, schemas use other
 * rules for `nullable`, exclusive bounds and `$ref`.
 */
export function upgradeDocument(document: JsonObject): JsonObject {
  return upgrade(document, false) as JsonObject;
}

function upgrade(value: Json, isMap: boolean): Json {
  if (Array.isArray(value)) return value.map(one => upgrade(one, false));
  if (!isObject(value)) return value;
  // Removes the members beside a `$ref`, because they have no effect in OpenAPI 3.0.
  if (!isMap && typeof value.$ref === 'string') return { $ref: value.$ref };
  const members = Object.entries(value).map(([key, member]): [string, Json] => {
    const isValue = !isMap && (values.has(key) || key.startsWith('x-'));
    return [key, isValue ? member : upgrade(member, !isMap && maps.has(key))];
  });
  const upgraded = Object.fromEntries(members);
  if (isMap) return upgraded;
  const bounded = withBound(upgraded, 'minimum', 'exclusiveMinimum');
  return withNull(withBound(bounded, 'maximum', 'exclusiveMaximum'));
}

/** Replaces a boolean `exclusiveMinimum` by the bound itself, as OpenAPI 3.1 writes exclusive bounds. */
function withBound(schema: JsonObject, bound: string, exclusive: string): JsonObject {
  const { [bound]: limit, [exclusive]: isExclusive, ...others } = schema;
  if (typeof isExclusive !== 'boolean') return schema;
  return limit === undefined ? others : { ...others, [isExclusive ? exclusive : bound]: limit };
}

function withNull(schema: JsonObject): JsonObject {
  const { nullable, ...others } = schema;
  if (typeof nullable !== 'boolean') return schema;
  if (!nullable) return others;
  if (typeof others.type === 'string') return { ...others, type: [others.type, 'null'] };
  const isUnion = ['allOf', 'anyOf', 'oneOf'].some(key => Object.hasOwn(others, key));
  return isUnion ? { anyOf: [others, { type: 'null' }] } : others;
}
