import { z } from 'zod';

export type Json = { [key: string]: unknown };

/** A Zod schema as JSON Schema 2020-12. A schema with a title becomes a named component. */
export function toJsonSchema(schema: unknown, io: 'input' | 'output'): Json | null {
  // ts-rest passes its symbol for "no body" here too.
  if (!(schema instanceof z.ZodType)) return null;
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, {
    io,
    target: 'draft-2020-12',
    override: ({ zodSchema, jsonSchema }) => {
      const { openapi, examples } = z.globalRegistry.get(zodSchema) ?? {};
      // What Zod cannot see in a refinement stands in the schema's metadata.
      if (openapi) {
        const { description } = jsonSchema;
        for (const key of Object.keys(jsonSchema)) delete jsonSchema[key];
        Object.assign(jsonSchema, openapi, description && { description });
      }
      // Zod leaves examples out of the input of what it transforms; ours are what a client sends.
      if (examples) jsonSchema.examples = examples as unknown[];
      // z.int() bounds every integer to what a double holds, which says nothing to a reader.
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      // The server adds fields within v1, so an answer with one more is still a valid answer.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
    },
  });
  return jsonSchema;
}

/** Gives every schema with a title a place among the components, and a reference where it stood. */
export function nameSchemas(value: unknown, schemas: Json): unknown {
  if (Array.isArray(value)) return value.map(one => nameSchemas(one, schemas));
  if (value === null || typeof value !== 'object') return value;
  const named = Object.fromEntries(
    // An idea in an example has a title as well.
    Object.entries(value).map(([key, one]) => [key, key === 'examples' ? one : nameSchemas(one, schemas)]),
  );
  const { title } = named;
  if (typeof title !== 'string') return named;
  schemas[title] ??= named;
  return JSON.stringify(schemas[title]) === JSON.stringify(named) ? { $ref: `#/components/schemas/${title}` } : named;
}
