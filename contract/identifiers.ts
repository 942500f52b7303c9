import { z } from 'zod';

/**
 * A schema for an id in a response. Ids are 64-bit integers in the database, but stay below 2^53, so that JSON numbers
 * can hold them.
 */
export const Id = z
  .int()
  .min(1)
  .meta({ openapi: { type: 'integer', format: 'int64', minimum: 1 } });

/**
 * A schema for an id in a path, which must match [0-9]+. For another text, or for a number that is too large for an id,
 * the server answers 404 instead of 422.
 */
export const PathId = z
  .union([z.int(), z.string().regex(/^[0-9]+$/)])
  .transform(Number)
  .pipe(z.int())
  .meta({ openapi: { type: 'integer', format: 'int64', minimum: 1 } });

/**
 * A schema for an id in a body. Language models often send numbers as text, so the schema also accepts a string of
 * digits. The OpenAPI document keeps the type integer, so that generated clients keep the type number.
 */
export const BodyId = z
  .unknown()
  .transform(value => (typeof value === 'string' && /^[0-9]+$/.test(value) ? Number(value) : value))
  .pipe(Id)
  .meta({ openapi: { type: 'integer', format: 'int64', minimum: 1 } }) as unknown as z.ZodType<number, number>;

/** The path parameters of an idea. */
export const IdeaPath = { id: PathId.meta({ description: 'The id of the idea.', examples: [42] }) };

/** The path parameters of a comment. */
export const CommentPath = {
  ...IdeaPath,
  commentId: PathId.meta({ description: 'The id of a comment on the idea.', examples: [1001] }),
};

/** The path parameters of a note. */
export const NotePath = {
  ...IdeaPath,
  noteId: PathId.meta({ description: 'The id of a note about the idea.', examples: [700] }),
};
