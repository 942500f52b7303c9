import type { FastifyRequest } from 'fastify';
import type { AccountOfUser } from '../../domain/sign-in/session.ts';
import { fieldOf, idFieldOf } from '../shell/form.ts';
import { pathIn } from '../shell/session.ts';

/*
 * Ideas and people are moderated from the queue and from the page of an idea. Where a form was come to from stands in its
 * address, as from=queue with the place in the queue or as from=<id of an idea>, so that it leads back there.
 */

/** What the links of the queue say of it. */
export function wayToQueue(query: unknown): Record<string, string> {
  return { from: 'queue', ...placeInQueue(query) };
}

/** What the links on the page of an idea say of it. */
export function wayToIdea(id: number): Record<string, string> {
  return { from: String(id) };
}

/** What the address says of where its reader came from, for the next form on the way. */
export function wayOf({ query }: FastifyRequest): Record<string, string> {
  if (fieldOf(query, 'from') === 'queue') return wayToQueue(query);
  const id = idFieldOf(query, 'from');
  return id === undefined ? {} : wayToIdea(id);
}

/** The page from which the reader came; the other one where the address names none. */
export function wayBack(
  request: FastifyRequest,
  account: AccountOfUser,
  otherwise: string,
  parameters: Record<string, string> = {},
): string {
  if (fieldOf(request.query, 'from') === 'queue') {
    return pathIn(request, account, '/admin/queue', { ...placeInQueue(request.query), ...parameters });
  }
  const id = idFieldOf(request.query, 'from');
  return pathIn(request, account, id === undefined ? otherwise : ideaPath(id), parameters);
}

export function ideaPath(id: number): string {
  return `/admin/ideas/${id}`;
}

function placeInQueue(query: unknown): Record<string, string> {
  const fields = ['board', 'cursor'].map(name => [name, fieldOf(query, name)] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== ''));
}
