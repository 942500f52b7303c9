import { DomainError } from './domain-error.ts';

export interface Place {
  perPage: number;
  page: number | null;
  offset: number;
  cursor: Cursor | undefined;
}

/** The sort key and the id of the last row on the previous page. */
export interface Cursor {
  sort: string;
  key: string | number;
  id: number;
}

export interface Page<Row> {
  rows: Row[];
  place: Place;
  hasMore: boolean;
  nextCursor: string | null;
}

/** The caller must fetch one row more than the page size, so that hasMore is correct. */
export function cutPage<Row>(fetched: Row[], place: Place, cursorOf: (row: Row) => Cursor): Page<Row> {
  const hasMore = fetched.length > place.perPage;
  const rows = hasMore ? fetched.slice(0, place.perPage) : fetched;
  const last = rows.at(-1);
  return { rows, place, hasMore, nextCursor: hasMore && last ? encodeCursor(cursorOf(last)) : null };
}

export function presentPage<Row, Entry>({ rows, place, hasMore, nextCursor }: Page<Row>, present: (row: Row) => Entry) {
  return {
    data: rows.map(present),
    page: place.page,
    per_page: place.perPage,
    has_more: hasMore,
    next_cursor: nextCursor,
  };
}

export interface FirstRows<Row> {
  rows: Row[];
  hasMore: boolean;
}

/** The caller must fetch one row more than the limit, so that hasMore is correct. */
export function cutRows<Row>(fetched: Row[], limit: number): FirstRows<Row> {
  return { rows: fetched.slice(0, limit), hasMore: fetched.length > limit };
}

/** Reads the query parameters page, per_page and cursor. Rejects a cursor of a list with another sort order. */
export function placeOf(
  query: { page?: number | undefined; per_page?: number | undefined; cursor?: string | undefined },
  sort: string,
  defaultPerPage: number,
): Place {
  const perPage = query.per_page ?? defaultPerPage;
  if (query.cursor !== undefined) {
    return { perPage, page: null, offset: 0, cursor: decodeCursor(query.cursor, sort) };
  }
  const page = query.page ?? 1;
  const offset = (page - 1) * perPage;
  if (!Number.isSafeInteger(offset + perPage + 1)) refuse('page', 'Is too large');
  return { perPage, page, offset, cursor: undefined };
}

export function encodeCursor({ sort, key, id }: Cursor): string {
  return Buffer.from(JSON.stringify([sort, key, id])).toString('base64url');
}

function decodeCursor(text: string, sort: string): Cursor {
  const cursor = parseCursor(text);
  if (!cursor || cursor.sort !== sort) refuse('cursor', 'Is not a next_cursor of this list');
  return cursor;
}

function parseCursor(text: string): Cursor | undefined {
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || parts.length !== 3) return undefined;
  const [sort, key, id] = parts;
  if (typeof sort !== 'string' || !Number.isSafeInteger(id)) return undefined;
  if (timeSorts.has(sort)) {
    // Converts an invalid date, such as February 31, to a day in March. Otherwise PostgreSQL would reject the cursor,
    // although JavaScript accepts the date.
    const time = typeof key === 'string' && timestampText.test(key) ? new Date(key) : undefined;
    return time && !Number.isNaN(time.getTime()) ? { sort, key: time.toISOString(), id } : undefined;
  }
  return Number.isInteger(key) && Math.abs(key) <= maxInteger ? { sort, key, id } : undefined;
}

const timeSorts = new Set(['newest', 'updated', 'voted', 'waiting', 'rejected']);
const timestampText = /^(19[7-9]|[2-9]\d\d)\d-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,3})?[+-]\d\d$/;
const maxInteger = 2 ** 31 - 1;

function refuse(field: string, message: string): never {
  throw new DomainError('validation_failed', { issues: [{ path: ['query', field], code: 'custom', message }] });
}
