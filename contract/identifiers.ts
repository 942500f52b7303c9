import { z } from 'zod';

/**
 * A schema for an id in a response or a body. Ids are 64-bit integers in the database, but stay below 2^53, so that
 * JSON numbers can hold them.
 */
export const Id = z
  .int()
  .min(1)
  .meta({ openapi: { type: 'integer', format: 'int64', minimum: 1 } });

/**
 * A schema for an id in a path, which must match [0-9]+ (Idea). For other text, or for a number larger than every id,
 * the server answers 404 and not 422.
 */
export const PathId = z
  .union([z.int(), z.string().regex(/^[0-9]+$/)])
  .transform(Number)
  .pipe(z.int())
  .meta({ openapi: { type: 'integer', format: 'int64', minimum: 1 } });

/** The path parameters of an idea. */
export const IdeaPath = { id: PathId.meta({ description: 'The id of the idea.', examples: [42] }) };
