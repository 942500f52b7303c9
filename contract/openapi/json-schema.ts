import { z } from 'zod';

export type Json = { [key: string]: unknown };

/** Converts a Zod schema to JSON Schema 2020-12. */
export function toJsonSchema(schema: unknown, io: 'input' | 'output'): Json | null {
  // If a request or response has no body, ts-rest passes a symbol instead of a schema.
  if (!(schema instanceof z.ZodType)) return null;
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    override: ({ zodSchema, jsonSchema }) => {
      const { openapi, examples } = z.globalRegistry.get(zodSchema) ?? {};
      // Zod cannot convert a refinement. The metadata of the schema describes the refinement instead.
      if (openapi) {
        const { description } = jsonSchema;
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        Object.assign(jsonSchema, openapi, description && { description });
      }
      // Zod omits the examples of a schema that transforms its input, so this code adds them. These examples show
      // values that a client sends.
      if (examples) jsonSchema.examples = examples as unknown[];
      // z.int() gives every integer the bounds of a double. This code removes the bounds, because they do not help a
      // reader of the OpenAPI document.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // Removes the ban on additional fields from responses, because a later server may add fields within v1.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return jsonSchema;
}

/**
 * Moves every schema with a title to the components, and puts a reference in its place. A different schema with the
 * same title stays in place.
 */
export function nameSchemas(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map(one => nameSchemas(one, schemas));
  if (value === null || typeof value !== 'object') return value;
  const named = Object.fromEntries(
    // Skips examples. An example of an idea has a field `title`, like a schema with a title, but is not a schema.
    Object.entries(value).map(([key, one]) => [key, key === 'examples' ? one : nameSchemas(one, schemas)]),
  );
  const { title } = named;
  if (typeof title !== 'string') return named;
  schemas[title] ??= named;
  return JSON.stringify(schemas[title]) === JSON.stringify(named) ? { $ref: `#/components/schemas/${title}` } : named;
}
