import { z } from 'zod';

/**
 * An id in a response or a body. Ids are 64-bit in the database and stay below 2^53, so that JSON numbers can hold them.
 */
export const Id = z
  .int()
  .min(1)
  .meta({ openapi: { type: 'integer', format: 'int64', minimum: 1 } });

/**
 * An id in a path, matched by [0-9]+ (Idea). For any other text, or a number larger than every id, the server answers
 * 404, not 422.
 */
export const PathId = z
  .union([z.int(), z.string().regex(/^[0-9]+$/)])
  .transform(Number)
  .pipe(z.int())
  .meta({ openapi: { type: 'integer', format: 'int64', minimum: 1 } });

/** The path of an idea. */
export const IdeaPath = { id: PathId.meta({ description: 'The id of the idea.', examples: [42] }) };
