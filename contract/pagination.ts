import { z } from 'zod';
import { word } from './text.ts';

/** A whole number in a query string, as digits. */
function queryInteger(min: number, max: number) {
  return z
    .union([z.int(), z.string().regex(/^[0-9]+$/, 'Must be a whole number')])
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .meta({
      openapi: { type: 'integer', minimum: min, ...(max < Number.MAX_SAFE_INTEGER ? { maximum: max } : {}) },
    });
}

export const defaultPerPage = 20;

export const pagination = {
  page: queryInteger(1, Number.MAX_SAFE_INTEGER)
    .optional()
    .describe('The number of the page, from 1. For reading far, `cursor` is faster. Not together with `cursor`.')
    .meta({ examples: [1] }),
  per_page: queryInteger(1, 100)
    .optional()
    .describe(`How many entries a page has; ${defaultPerPage} by default.`)
    .meta({ examples: [2] }),
  cursor: word(500)
    .optional()
    // Without an example: beside the one of page it would make a request that is refused.
    .describe('The `next_cursor` of the page before, with the same other parameters. Not together with `page`.'),
};

/** Page and cursor are two ways to name a place in a list, and one request can have only one. */
export function onePlace<T extends z.ZodType<{ page?: unknown; cursor?: unknown }>>(query: T) {
  return query.refine(({ page, cursor }) => page === undefined || cursor === undefined, {
    error: 'Give either page or cursor, not both',
    path: ['cursor'],
  });
}

/** The envelope of every list. There is no total: it would cost a scan. */
export function listOf<T extends z.ZodType>(entry: T, title: string, description: string, example: unknown) {
  return z
    .object({
      data: z.array(entry).describe('The entries of this page.'),
      page: z.int().min(1).nullable().describe('The number of this page; null when it was reached with a cursor.'),
      per_page: z.int().min(1).describe('How many entries a page has, except the last.'),
      has_more: z.boolean().describe('Whether entries follow this page.'),
      next_cursor: z.string().nullable().describe('The cursor of the next page; null on the last.'),
    })
    .meta({ title, description, examples: [example] });
}
