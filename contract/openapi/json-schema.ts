import { z } from 'zod';

export type Json = { [key: string]: unknown };

/** Converts a Zod schema to JSON Schema 2020-12. A schema with a title becomes a named component. */
export function toJsonSchema(schema: unknown, io: 'input' | 'output'): Json | null {
  // ts-rest also passes its symbol for "no body".
  if (!(schema instanceof z.ZodType)) return null;
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    override: ({ zodSchema, jsonSchema }) => {
      const { openapi, examples } = z.globalRegistry.get(zodSchema) ?? {};
      // Zod cannot see into a refinement. The schema's metadata describes it.
      if (openapi) {
        const { description } = jsonSchema;
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        Object.assign(jsonSchema, openapi, description && { description });
      }
      // Zod omits the examples of a transformed input. Ours are values that a client sends.
      if (examples) jsonSchema.examples = examples as unknown[];
      // z.int() adds the bounds of a double to every integer. They do not help a reader.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // The server can add fields within v1: a response with an additional field is still valid.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return jsonSchema;
}

/** Moves every schema with a title to the components, and leaves a reference in its place. */
export function nameSchemas(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map(one => nameSchemas(one, schemas));
  if (value === null || typeof value !== 'object') return value;
  const named = Object.fromEntries(
    // An idea in an example has a title, too.
    Object.entries(value).map(([key, one]) => [key, key === 'examples' ? one : nameSchemas(one, schemas)]),
  );
  const { title } = named;
  if (typeof title !== 'string') return named;
  schemas[title] ??= named;
  return JSON.stringify(schemas[title]) === JSON.stringify(named) ? { $ref: `#/components/schemas/${title}` } : named;
}
