import { mayBlock } from '../../domain/users/block-user.ts';
import type { PersonView } from '../../domain/users/read-people.ts';
import { fieldOf, idFieldOf } from '../shell/form.ts';
import type { Visit } from '../shell/visit.ts';

/*
 * Ideas and people are moderated from the queue and from the page of an idea. The address of a form says where the reader
 * came from, so that the form leads back there: from=queue with the place in the queue, or from=<id of an idea>.
 */

/** The notices of the pages to which the forms of moderation lead. */
export const notices = {
  approved: 'The idea is published.',
  approved_already: 'The idea was published already.',
  rejected: 'The idea is rejected, and its author is told why.',
  rejected_already: 'The idea was rejected already.',
  status_set: 'The status is set.',
  tag_added: 'The idea has the tag.',
  tag_removed: 'The tag is taken away.',
  merged: 'The ideas are merged.',
  unmerged: 'The merge is undone.',
  followed: 'You follow this idea now.',
  unfollowed: 'You follow this idea no more.',
  blocked: 'The person is blocked.',
  unblocked: 'The person is not blocked any more.',
} as const;

export type Notice = keyof typeof notices;

/** The parameters of the links in the queue. */
export function wayToQueue({ request }: Visit): Record<string, string> {
  return { from: 'queue', ...placeInQueue(request.query) };
}

/** The parameters of the links on the page of an idea. */
export function wayToIdea(id: number): Record<string, string> {
  return { from: String(id) };
}

/** The parameters that pass on where the reader came from. */
export function wayOf(visit: Visit): Record<string, string> {
  if (fieldOf(visit.request.query, 'from') === 'queue') return wayToQueue(visit);
  const id = idFieldOf(visit.request.query, 'from');
  return id === undefined ? {} : wayToIdea(id);
}

/** The path of the page from which the reader came, or `otherwise` if the address names none. */
export function wayBack(visit: Visit, otherwise: string, parameters: { notice?: Notice } = {}): string {
  const { query } = visit.request;
  if (fieldOf(query, 'from') === 'queue') {
    return visit.path('/admin/queue', { ...placeInQueue(query), ...parameters });
  }
  const id = idFieldOf(query, 'from');
  return visit.path(id === undefined ? otherwise : ideaPath(id), parameters);
}

export function ideaPath(id: number): string {
  return `/admin/ideas/${id}`;
}

function placeInQueue(query: unknown): Record<string, string> {
  const fields = ['board', 'cursor'].map(name => [name, fieldOf(query, name)] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== ''));
}

/**
 * Whether a person is blocked, and where the reader may block and unblock them. `person` is undefined for somebody whom
 * the account does not know, such as the deleted user.
 */
export function presentPerson(visit: Visit, person: PersonView | undefined, way: Record<string, string>) {
  if (!person) return { isBlocked: false };
  const mayReader = person.id !== visit.user.id && mayBlock(visit.account.role, person.role);
  return {
    isBlocked: person.is_blocked,
    blockPath: mayReader ? visit.path(`/admin/blocks/${person.id}`, way) : undefined,
  };
}
