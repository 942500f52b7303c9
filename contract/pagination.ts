import { z } from 'zod';
import { word } from './text.ts';

/** A schema for a whole number in a query string, which contains the number as digits. */
export function queryInteger(min: number, max: number) {
  return z
    .union([z.int(), z.string().regex(/^[0-9]+$/, 'Must be a whole number')])
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({
      openapi: { type: 'integer', minimum: min, ...(max < Number.MAX_SAFE_INTEGER ? { maximum: max } : {}) },
    });
}

/**
 * A schema for a list of values. A query string contains the list as text with commas, and a tool call contains it as
 * an array.
 */
export function queryList<T extends z.ZodType>(entry: T, max: number, items: object) {
  return z
    .union([z.array(z.unknown()), z.string().transform(list => (list === '' ? [] : list.split(',')))])
    .pipe(z.array(entry).max(max))
    .meta({ openapi: { type: 'array', items, maxItems: max } });
}

export const defaultPerPage = 20;

export const pagination = {
  page: queryInteger(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('The page number, from 1. `cursor` is faster and cannot be combined with it.')
    .meta({ examples: [1] }),
  per_page: queryInteger(1, 100)
    .optional()
    .describe(`The number of entries per page; ${defaultPerPage} by default.`)
    .meta({ examples: [2] }),
  cursor: word(500)
    .optional()
    // The cursor has no example, because an example request with both a cursor and a page number would be invalid.
    .describe('The `next_cursor` of the previous page. Repeat the other parameters.'),
};

/** Extends the schema of a query so that it refuses a request with both `page` and `cursor`. */
export function onePlace<T extends z.ZodType<{ page?: unknown; cursor?: unknown }>>(query: T) {
  return query.refine(({ page, cursor }) => page === undefined || cursor === undefined, {
    error: 'Give either page or cursor, not both',
    path: ['cursor'],
  });
}

/**
 * A schema for one page of a list. The page does not contain the total number of entries, because the database would
 * have to scan all rows to count them.
 */
export function listOf<T extends z.ZodType>(entry: T, title: string, description: string, example: unknown) {
  return z
    .object({
      data: z.array(entry).describe('The entries of this page.'),
      page: z.int().min(1).nullable().describe('The number of this page; null if the request used a cursor.'),
      per_page: z.int().min(1).describe('The number of entries per page. The last page can have fewer.'),
      has_more: z.boolean().describe('Whether there is a next page.'),
      next_cursor: z.string().nullable().describe('The cursor of the next page; null on the last page.'),
    })
    .meta({ title, description, examples: [example] });
}
