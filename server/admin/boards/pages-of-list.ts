import type { FastifyRequest } from 'fastify';
import type { Link } from '../../pages/shell/page.ts';
import { numberIn } from '../shell/form.ts';

/** A page of a list: what is on it, and where the list begins and goes on. */
export interface ListPage<Row> {
  rows: Row[];
  page: number;
  first?: Link | undefined;
  next?: Link | undefined;
}

/** Where in a list the page begins that an address asks for; one more than it shows tells whether the list goes on. */
export function placeIn(request: FastifyRequest, perPage: number) {
  const page = pageIn(request);
  return { limit: perPage + 1, offset: (page - 1) * perPage };
}

export function pageOf<Row>(
  request: FastifyRequest,
  fetched: Row[],
  {
    perPage,
    next,
    pathOfPage,
  }: { perPage: number; next: string; pathOfPage: (page: Record<string, string>) => string },
): ListPage<Row> {
  const page = pageIn(request);
  return {
    rows: fetched.slice(0, perPage),
    page,
    ...(page > 1 ? { first: { label: 'To the beginning', href: pathOfPage({}) } } : {}),
    ...(fetched.length > perPage ? { next: { label: next, href: pathOfPage({ page: String(page + 1) }) } } : {}),
  };
}

/** Farther than any list goes, and near enough for PostgreSQL. */
const lastPage = 1_000_000;

function pageIn(request: FastifyRequest): number {
  return Math.min(numberIn(request, 'page') ?? 1, lastPage);
}
