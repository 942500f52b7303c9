import type { Page } from '../domain/pagination.ts';

/** A page in the envelope of every list. */
export function presentPage<Row, Entry>(page: Page<Row>, present: (row: Row) => Entry) {
  return {
    data: page.rows.map(present),
    page: page.place.page,
    per_page: page.place.perPage,
    has_more: page.hasMore,
    next_cursor: page.nextCursor,
  };
}
