import { mayBlock } from '../../domain/users/block-user.ts';
import type { PersonView } from '../../domain/users/read-people.ts';
import type { Visit } from '../../pages/shell/visit.ts';

/*
 * Moderators open a form from the queue or from the page of an idea. The form's URL names that page, so that the form
 * can lead back to it. The query parameter is from=queue with the place in the queue, or from=<id of an idea>.
 */

export const notices = {
  approved: 'The idea is published.',
  approved_already: 'The idea was already published.',
  rejected: 'The idea is rejected. Its author gets the reason.',
  rejected_already: 'The idea was already rejected.',
  status_set: 'The status is set.',
  tag_added: 'The tag is added.',
  tag_removed: 'The tag is removed.',
  merged: 'The ideas are merged.',
  unmerged: 'The merge is undone.',
  followed: 'You follow this idea now.',
  unfollowed: 'You no longer follow this idea.',
  blocked: 'The person is blocked.',
  unblocked: 'The person is no longer blocked.',
} as const;

export type Notice = keyof typeof notices;

/** Returns query parameters for a form. With them, the server returns the user to the queue after the form. */
export function wayToQueue(visit: Visit): Record<string, string> {
  return { from: 'queue', ...placeInQueue(visit) };
}

/** Returns query parameters for a form. With them, the server returns the user to the idea's page after the form. */
export function wayToIdea(id: number): Record<string, string> {
  return { from: String(id) };
}

/** Returns the query parameters of the current URL that name the moderator's previous page. */
export function wayOf(visit: Visit): Record<string, string> {
  if (visit.parameter('from') === 'queue') return wayToQueue(visit);
  const id = visit.number('from');
  return id === undefined ? {} : wayToIdea(id);
}

/** Returns the path of the moderator's previous page, or `otherwise` if the URL does not name one. */
export function wayBack(visit: Visit, otherwise: string, parameters: { notice?: Notice } = {}): string {
  if (visit.parameter('from') === 'queue') {
    return visit.path('/admin/queue', { ...placeInQueue(visit), ...parameters });
  }
  const id = visit.number('from');
  return visit.path(id === undefined ? otherwise : ideaPath(id), parameters);
}

export function ideaPath(id: number): string {
  return `/admin/ideas/${id}`;
}

function placeInQueue(visit: Visit): Record<string, string> {
  const fields = ['board', 'cursor'].map(name => [name, visit.parameter(name)] as const);
  return Object.fromEntries(fields.filter(([, value]) => value !== ''));
}

/**
 * Tells whether a person is blocked, with the path to block or unblock them. `person` is undefined for people outside
 * the account, such as the placeholder for erased users.
 */
export function presentPerson(visit: Visit, person: PersonView | undefined, way: Record<string, string>) {
  if (!person) return { isBlocked: false };
  const mayReader = person.id !== visit.user.id && mayBlock(visit.account.role, person.role);
  return {
    isBlocked: person.is_blocked,
    blockPath: mayReader ? visit.path(`/admin/blocks/${person.id}`, way) : undefined,
  };
}
